"""How fast a long transcript comes in, and how much memory that takes.

    python benchmarks/importing.py --megabytes 1000

It writes a file such as Claude Code writes, of made-up sessions (most of its bytes are answers of tools, as in real ones), and
imports it, without embedding, in a process of its own: the wall-clock and CPU time of the import, and the most memory that
the process had at any time. `--one-session` puts all of it into one session, which is then as long as the file.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

WORDS = (
    "parser config retry timeout schema cache index worker token deploy rollback query handler socket stream buffer ledger"
    " invoice refund booking flight refresh session cursor thread vector matrix filter brief skill outcome"
).split()
TOOLS = ("Bash", "Read", "Edit", "Grep", "Write", "Glob")
TURNS = 60  # calls in a session


def lines(seed: int, *, one_session: bool) -> Iterator[str]:
    """Lines of sessions without end."""
    make = random.Random(seed)
    printed = ["\n".join(f"{n:5d}\t{' '.join(make.choices(WORDS, k=9))}" for n in range(make.choice((3, 30, 120)))) for _ in range(40)]  # fmt: skip
    number = 0
    while True:
        session = f"00000000-0000-4000-8000-{0 if one_session else number:012d}"
        number += 1
        yield from session_lines(make, session, number, printed)


def session_lines(make: random.Random, session: str, number: int, printed: list[str]) -> Iterator[str]:
    """One session: a request, calls with their answers, an account."""
    same = {"sessionId": session, "cwd": "/work", "version": "2.0.0", "gitBranch": "main", "isSidechain": False, "userType": "external"}  # fmt: skip
    at = iter(range(10**6))
    parent = None

    def line(kind: str, message: dict[str, object], **more: object) -> str:
        nonlocal parent
        uuid = f"{number:08x}-{next(at):04x}-4000-8000-000000000000"
        stamp = f"2026-11-{1 + number % 28:02d}T10:00:00.000Z"
        event = {
            "parentUuid": parent,
            **same,
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": stamp,
            **more,
        }
        parent = uuid
        return json.dumps(event)

    def said(block: dict[str, object], id: int) -> str:
        usage = {"input_tokens": 12, "cache_read_input_tokens": 20_000, "output_tokens": 150}
        message = {"id": f"msg_{number}_{id}", "type": "message", "role": "assistant", "model": "made-up", "content": [block], "usage": usage}  # fmt: skip
        return line("assistant", message)

    yield line("user", {"role": "user", "content": f"Please fix the {' '.join(make.choices(WORDS, k=12))}."})
    for turn in range(TURNS):
        yield said({"type": "text", "text": f"I look at {' '.join(make.choices(WORDS, k=20))}."}, turn)
        call = f"toolu_{number}_{turn}"
        command = {"command": f"cat src/{make.choice(WORDS)}.py", "description": "look"}
        yield said({"type": "tool_use", "id": call, "name": make.choice(TOOLS), "input": command}, turn)
        text = make.choice(printed)
        result = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": make.random() < 0.1}
        told = {"stdout": text, "stderr": "", "interrupted": False}
        yield line("user", {"role": "user", "content": [result]}, toolUseResult=told)
    yield said({"type": "text", "text": f"It works again: {' '.join(make.choices(WORDS, k=40))}."}, TURNS)


def write(path: Path, megabytes: float, *, one_session: bool) -> None:
    """A file of at least so many megabytes (10**6 bytes)."""
    left = megabytes * 10**6
    with path.open("w", encoding="utf-8") as file:
        for line in lines(1, one_session=one_session):
            file.write(line + "\n")
            left -= len(line) + 1
            if left <= 0:
                return


def child(path: Path, db: Path) -> dict[str, float]:
    """Import the file, here and now."""
    from experience import SqliteStore
    from experience.importers.importing import import_paths

    wall, cpu = time.perf_counter(), time.process_time()
    with SqliteStore(db) as store:
        report = import_paths(store, [path])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    megabytes = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    return {
        "megabytes": megabytes,
        "sessions": report.new + report.known + report.grown,
        "turns": report.seen,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "mb_per_second_wall": megabytes / wall,
        "mb_per_second_cpu": megabytes / cpu,
        "peak_mb": peak,
    }


@click.command()
@click.option("--megabytes", default=1000.0, show_default=True, help="How large the file is.")
@click.option("--one-session", is_flag=True, help="All of it is one session.")
@click.option("--again", is_flag=True, help="Import it a second time too, when all of it is known.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--import", "importing", type=(Path, Path), hidden=True, help="Do the import: the file and the store.")
def main(megabytes: float, one_session: bool, again: bool, as_json: bool, importing: tuple[Path, Path] | None) -> None:
    """Print megabytes a second and the peak of memory."""
    if importing:
        print(json.dumps(child(*importing)))
        return
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path, db = Path(folder) / "session.jsonl", Path(folder) / "runs.db"
        write(path, megabytes, one_session=one_session)
        for _ in range(1 + again):
            done = subprocess.run([sys.executable, __file__, "--import", path, db], stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
            found.append(json.loads(done.stdout))
    if as_json:
        print(json.dumps(found))
        return
    for one in found:
        print(
            f"{one['megabytes']:,.0f} MB, {one['sessions']:,} sessions, {one['turns']:,} turns: {one['mb_per_second_wall']:.0f} MB/s "
            f"(CPU: {one['mb_per_second_cpu']:.0f}), {one['peak_mb']:.0f} MB of memory at most"
        )


if __name__ == "__main__":
    main()
