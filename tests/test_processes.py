"""Several processes on one file, and processes that are killed at the worst moment."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from experience import Episode, SqliteStore
from experience.testing import HashEncoder

EIGHT, EACH = 8, 200


def python(code, *args):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def integrity(path):
    db = sqlite3.connect(path)
    try:
        return db.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        db.close()


RECORD = """
import sys
from experience import Episode, SqliteStore
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with SqliteStore(path) as store:
    for number in range(count):
        store.record(Episode(f"task {number} of {name}", "done", tools=("shell",), run_id=f"{name}-{number}", success=True))
"""


def test_eight_processes_record_into_one_fresh_file_and_none_is_lost(path):
    workers = [python(RECORD, path, name, EACH) for name in range(EIGHT)]
    for worker in workers:
        _, errors = worker.communicate(timeout=240)
        assert (worker.returncode, errors) == (0, "")

    with SqliteStore(path) as store:
        assert store.count() == EIGHT * EACH
        assert store.read("SELECT count(*) FROM words") == [(EIGHT * EACH,)]
        assert store.read("SELECT count(*) FROM verdicts") == [(EIGHT * EACH,)]
    assert integrity(path) == "ok"


def test_processes_that_open_a_fresh_file_together_all_get_it(tmp_path):
    for round_ in range(3):
        path = tmp_path / f"{round_}.db"
        workers = [python(RECORD, path, name, 1) for name in range(EIGHT)]
        for worker in workers:
            _, errors = worker.communicate(timeout=120)
            assert (worker.returncode, errors) == (0, "")
        with SqliteStore(path) as store:
            assert store.count() == EIGHT


READ_THEN_WRITE = """
import sys
from experience import Episode, SqliteStore
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with SqliteStore(path) as store:
    for number in range(count):
        store.record(Episode("the run that all of them know", f"{name} {number}", run_id="shared"), supersede=True)
        with store.write():
            told = int(store.setting("told") or 0)
            store.set_setting("told", str(told + 1))
        store.add_label(1, number % 2 == 0, "host", name)
"""


def test_four_processes_that_read_before_they_write_are_never_told_that_it_is_locked(path):
    with SqliteStore(path) as store:
        store.record(Episode("labelled by all", "o"))
    workers = [python(READ_THEN_WRITE, path, name, 100) for name in "abcd"]
    for worker in workers:
        _, errors = worker.communicate(timeout=240)
        assert (worker.returncode, errors) == (0, "")

    with SqliteStore(path) as store:
        assert store.setting("told") == "400"
        assert (store.total(), store.count()) == (401, 2)
        assert len(store.labels(1)) == 400


IMPORT = """
import sys, time
from experience import SqliteStore
from experience.transfer import import_lines
def slowly(file):
    for number, line in enumerate(file):
        if number == 2500:
            print("half way", flush=True)
        if number >= 2500:
            time.sleep(0.001)
        yield line
with SqliteStore(sys.argv[1]) as store, open(sys.argv[2], "rb") as file:
    import_lines(store, slowly(file))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_a_killed_import_goes_on_where_it_stopped(path, tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text(
        "".join(json.dumps({"situation": f"task {n}", "tools": [], "outcome": "o"}) + "\n" for n in range(5000))
    )
    worker = python(IMPORT, path, file)
    assert worker.stdout.readline() == "half way\n"
    time.sleep(0.2)
    worker.send_signal(signal.SIGKILL)
    worker.communicate()

    assert integrity(path) == "ok"
    with SqliteStore(path) as store:
        before = store.count()
        assert 2500 <= before < 5000
        with file.open("rb") as lines:
            from experience.transfer import import_lines

            done = import_lines(store, lines)
        assert (done.new, done.known) == (5000 - before, before)
        assert store.count() == 5000
        assert store.read("SELECT count(*) FROM words") == [(5000,)]


REFRESH = """
import sys, time
from experience import Memory, SqliteStore
from experience.backends import open_backend
from experience.testing import HashEncoder
class Slow(HashEncoder):
    def encode(self, texts):
        if len(self.calls) == 2:
            print("half way", flush=True)
            time.sleep(60)
        return super().encode(texts)
with SqliteStore(sys.argv[1]) as store:
    open_backend("embedding", store, Slow()).refresh()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_a_killed_refresh_goes_on_where_it_stopped(path):
    from experience.backends import open_backend

    with SqliteStore(path) as store:
        for number in range(200):
            store.record(Episode(f"task {number}", "o"))
    worker = python(REFRESH, path)
    assert worker.stdout.readline() == "half way\n"
    worker.send_signal(signal.SIGKILL)
    worker.communicate()

    assert integrity(path) == "ok"
    with SqliteStore(path) as store:
        backend = open_backend("embedding", store, HashEncoder())
        done = 200 - backend.pending()
        assert 0 < done < 200
        assert backend.refresh() == 200 - done
        assert len(backend.recall("task", 300)) == 200


def test_two_processes_that_refresh_at_once_embed_each_text_once_in_the_file(path):
    with SqliteStore(path) as store:
        for number in range(600):
            store.record(Episode(f"task {number}", "o"))
    code = REFRESH.replace("Slow()", "HashEncoder()")
    workers = [python(code, path) for _ in range(3)]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert (worker.returncode, errors) == (0, "")

    with SqliteStore(path) as store:
        assert store.read("SELECT count(*), count(DISTINCT episode_id) FROM vectors") == [(600, 600)]


FORK = """
import os, sys, threading, time
from experience import Episode, SqliteStore
store = SqliteStore(sys.argv[1])
store.record(Episode("before", "o"))
busy = len(sys.argv) > 2
if busy:  # another thread holds the store's lock most of the time
    stop = []
    def work():
        while not stop:
            store.count()
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.05)
child = os.fork()
if child == 0:
    store.record(Episode("in the child, while the parent has it open", "o"))
    time.sleep(0.6)
    store.record(Episode("in the child, after the parent closed it", "o"))
    os._exit(0)
time.sleep(0.2)
if busy:
    stop.append(1)
store.close()
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("busy", [(), ("busy",)])
def test_what_a_forked_child_records_stays_though_its_parent_closes_first(path, busy):
    worker = python("import warnings; warnings.simplefilter('ignore')\n" + FORK, path, *busy)
    _, errors = worker.communicate(timeout=60)
    assert (worker.returncode, errors) == (0, "")

    with SqliteStore(path) as store:
        assert store.count() == 3
    assert integrity(path) == "ok"


FORK_INSIDE = """
import os, sys
from experience import Episode, SqliteStore, StoreError
store = SqliteStore(sys.argv[1])
with store.write() as db:
    for number in range(600):
        db.execute("INSERT INTO settings VALUES ('n', ?, ?)", (str(number), os.urandom(3000).hex()))
    child = os.fork()
    if child == 0:
        try:
            store.count()
        except StoreError:
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
assert store.read("SELECT count(*) FROM settings") == [(600,)]
store.close()
"""

FORK_NESTED = """
import os, sys, threading, time
from experience import SqliteStore
one, two = SqliteStore(sys.argv[1]), SqliteStore(sys.argv[1] + "2")
def work():
    while True:
        with one.alone():
            time.sleep(0.001)
            with two.alone():
                pass
threading.Thread(target=work, daemon=True).start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("code", [FORK_INSIDE, FORK_NESTED], ids=["inside a transaction", "beside nested locks"])
def test_a_fork_at_a_bad_moment_harms_nobody(path, code):
    worker = python("import warnings; warnings.simplefilter('ignore')\n" + code, path)
    _, errors = worker.communicate(timeout=120)

    assert (worker.returncode, errors) == (0, "")
    assert integrity(path) == "ok"
