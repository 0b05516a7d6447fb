"""What leaves the window is on disk before anything is cut, once, and says where it is."""

import hashlib
import os
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts

from experience.errors import InvalidInput, NotFound, StoreError
from experience.tell.offload import ContentStore, substitute
from experience.tell.shorten import Strategy, shorten, size_of

TEXT = "half of this is worth little. " * 200


@pytest.fixture
def kept(tmp_path):
    return ContentStore(tmp_path / "kept")


def test_bytes_are_named_by_what_they_hold(kept):
    stored = kept.put(b"some bytes")
    digest = hashlib.sha256(b"some bytes").hexdigest()

    assert stored == (f"cas:sha256-{digest}", kept.root / f"rest-{digest[-16:]}.dat", 10)
    assert kept.read(stored.locator) == b"some bytes" == stored.path.read_bytes()
    assert kept.put(b"some bytes") == stored == kept.stored(b"some bytes")
    assert kept.put(b"other bytes").path != stored.path


def test_the_folder_is_its_owners_alone_and_made_only_when_needed(kept):
    kept.hint(TEXT)
    assert not kept.root.exists()

    stored = kept.put(b"x")
    assert kept.root.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in kept.root.iterdir()} == {0o400}
    assert len(list(kept.root.iterdir())) == 2
    assert stored.path.parent == kept.root


def test_what_is_there_is_not_written_again(kept):
    before = kept.put(b"x").path.stat()
    after = kept.put(b"x").path.stat()

    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_copy_that_was_deleted_or_damaged_is_made_again(kept):
    stored = kept.put(b"some bytes")
    stored.path.unlink()
    assert kept.copy(stored.locator).read_bytes() == b"some bytes"

    stored.path.chmod(0o600)
    stored.path.write_bytes(b"some")
    assert kept.put(b"some bytes").path.read_bytes() == b"some bytes"


def test_a_substitute_is_the_beginning_and_the_hint(kept):
    stored = kept.stored(TEXT.encode())
    hint = f"\n[offloaded: total 6000 bytes; rest at {stored.path}; original {stored.locator}]"

    assert kept.hint(TEXT) == hint
    assert substitute(TEXT, hint, 400) == (TEXT[: 400 - len(hint)] + hint, 6000 - 400 + len(hint))
    assert substitute(TEXT, hint, len(hint)) == (hint, 6000)
    assert substitute(TEXT, hint, len(hint) - 1) is None
    assert substitute("short", hint, 4000) is None


def test_a_substitute_stands_for_what_it_names_where_the_store_has_that(kept):
    text, _ = substitute(TEXT, kept.hint(TEXT), 400)
    assert kept.original(text) is None
    kept.put(TEXT.encode())

    assert kept.original(text) == TEXT
    for strategy in (Strategy.HEAD, Strategy.TAIL, Strategy.ENDS):
        assert kept.original(shorten(TEXT, strategy, 300).text + kept.hint(TEXT)) == TEXT
    assert kept.original(TEXT) is None
    assert kept.original("x" + text) is None
    assert kept.original(text.replace("total 6000", "total 60")) is None
    assert kept.original(text.replace(str(kept.root), "/home/evil")) is None
    assert kept.original(kept.hint("something else")) is None


def test_what_is_no_locator_and_what_is_not_there_are_told_apart(kept):
    for wrong in (
        "",
        "cas:sha256-12",
        "cas:sha256-" + "../" * 22,
        "cas:b3-" + "0" * 64,
        "cas:sha256-" + "0" * 64 + "\n",
    ):
        with pytest.raises(InvalidInput, match="is no locator"):
            kept.read(wrong)
    with pytest.raises(NotFound, match="nothing is kept"):
        kept.read("cas:sha256-" + "0" * 64)


def test_a_file_that_was_changed_is_not_given_out(kept):
    stored = kept.put(b"some bytes")
    pinned = kept.root / stored.locator.removeprefix("cas:")
    pinned.chmod(0o600)
    pinned.write_bytes(b"other bytes")

    with pytest.raises(StoreError, match="was changed"):
        kept.read(stored.locator)


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="name a folder that can be"):
        ContentStore(tmp_path / "file").put(b"x")
    with pytest.raises(InvalidInput, match="do not print"):
        ContentStore(tmp_path / "two\nlines")


def test_many_writers_at_once_leave_one_whole_file(kept):
    data = [bytes([number % 3]) * 100_000 for number in range(24)]
    writers = [threading.Thread(target=kept.put, args=(one,)) for one in data]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert len(list(kept.root.iterdir())) == 6
    assert all(kept.read(kept.stored(one).locator) == one == kept.stored(one).path.read_bytes() for one in data)


@settings(max_examples=50)
@given(texts.map(lambda text: text * 40), st.integers(0, 600))
def test_a_substitute_is_never_longer_than_its_cap_or_the_text(tmp_path_factory, text, cap):
    hint = ContentStore(tmp_path_factory.mktemp("kept") / "here").hint(text)
    made = substitute(text, hint, cap)
    room = min(cap, size_of(text) - 1)
    if made is None:
        assert size_of(hint) > room
        return

    assert room - 4 < size_of(made[0]) <= room
    beginning = made[0].removesuffix(hint)
    assert text.startswith(beginning)
    assert size_of(beginning) + made[1] == size_of(text)


def test_a_pipe_where_a_copy_should_be_is_replaced_and_never_read(kept):
    stored = kept.put(b"some bytes")
    for path in (stored.path, kept.root / stored.locator.removeprefix("cas:")):
        path.unlink()
        os.mkfifo(path)
        if path != stored.path:
            with pytest.raises(StoreError, match="does not hold what its name says"):
                kept.read(stored.locator)
        assert kept.put(b"some bytes") == stored
        assert path.read_bytes() == b"some bytes"


def test_what_a_killed_writer_left_is_removed_once_it_is_old(kept):
    kept.root.mkdir()
    for name, age in ((".rest-old", 7200), (".rest-young", 60), (".other-old", 7200)):
        (kept.root / name).write_bytes(b"half")
        os.utime(kept.root / name, (time.time() - age,) * 2)
    (kept.root / ".rest-link").symlink_to(kept.root / ".other-old")
    kept.put(b"x")

    assert {path.name for path in kept.root.glob(".*")} == {".rest-young", ".other-old", ".rest-link"}


def test_a_folder_without_a_name_is_refused():
    with pytest.raises(InvalidInput, match="is empty"):
        ContentStore("")
