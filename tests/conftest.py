"""What all tests share: a store of their own, no network, and where real data lies."""

import os
import socket
from pathlib import Path

import pytest

from experience import Memory, SqliteStore
from experience.backends.keyword import KeywordBackend
from experience.testing import Clock

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("HARDWON_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Nothing in the suite may open a connection."""

    def refuse(_self, address):
        raise AssertionError(f"a connection to {address!r} was tried; nothing here needs a network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(path, clock):
    with SqliteStore(path, clock=clock) as store:
        yield store


@pytest.fixture
def memory(store):
    return Memory(store, KeywordBackend(store))


@pytest.fixture
def shared():
    """The folder of real data next to the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"no real data at {SHARED.name}/ beside the checkout (set HARDWON_SHARED_DATA)")
    return SHARED
