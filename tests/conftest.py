"""What all tests share: a store of their own, no network, and where real data lies."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from experience import Memory, SqliteStore
from experience.backends.keyword import KeywordBackend
from experience.testing import Clock

# Shared machines are slow at times, and no property here is about time.
settings.register_profile("hardwon", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hardwon")

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("HARDWON_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Nothing in the suite may open a connection or look a name up; what is tried and swallowed counts too."""
    tried = []

    def refuse(*arguments, **_):
        tried.append(arguments)
        raise OSError("nothing here needs a network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield
    assert tried == []


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
        pytest.skip("no real data in ../shared/data (HARDWON_SHARED_DATA names another folder)")
    return SHARED
