"""What it takes to compose a payload beyond recalling for it, in stores of several sizes.

    python benchmarks/telling.py [--sizes 1000,100000]

Ratios within one run are to be trusted, times are those of the machine.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from experience import Episode, Memory, SkillFolder, SkillLibrary, SqliteStore
from experience.backends.keyword import KeywordBackend
from experience.learn.evidence import Citation
from experience.learn.learnings import Learnings
from experience.learn.skill import Skill
from experience.protocols import Filter, Match
from experience.tell.brief import brief
from experience.tell.compose import Run, compose
from experience.tell.receipts import Receipts

WORDS = [
    f"{start}{end}"
    for start in "bcdfghjklmnprstvw"
    for end in ("adon", "elim", "irot", "omuk", "unesh", "alvor", "ipten")
]
REPEATS = 15


def fill(store: SqliteStore, size: int, folder: Path) -> None:
    """Runs of made-up words, half of which follow one of forty skills, and fifty learnings."""
    draw = random.Random(1)
    library = SkillLibrary(store)
    for number in range(40):
        text = f"---\nname: skill-{number}\ndescription: How to {' '.join(draw.sample(WORDS, 12))}\n---\n\n{'Do it. ' * 200}"
        draft = library.add_draft(Skill.parse(text.encode()), "distilled", Citation())
        library.approve(draft.id, SkillFolder(folder), by="benchmark")
    for at in range(0, size, 2000):
        with store.write():
            for number in range(at, min(at + 2000, size)):
                skills = (f"skill-{number % 40}",) if number % 2 else ()
                success = [True, False, None][number % 3]
                store.record(
                    Episode(
                        " ".join(draw.choices(WORDS, k=14)),
                        " ".join(draw.choices(WORDS, k=10)),
                        ("shell",),
                        skills,
                        success=success,
                    )
                )
    for number in range(50):
        Learnings(store).propose(f"component{number} {' '.join(draw.sample(WORDS, 9))}")


class Timed(Memory):
    """Notes how long each recall takes, in seconds."""

    taken: list[float]

    def recall(self, situation: str, k: int = 3, where: Filter = Filter()) -> list[Match]:
        """As Memory does."""
        start = time.perf_counter()
        found = super().recall(situation, k, where)
        self.taken.append(time.perf_counter() - start)
        return found


def median(times: int, work: Callable[[], object]) -> float:
    """Milliseconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def measure(size: int) -> None:
    """One line of the table."""
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "runs.db") as store:
        fill(store, size, Path(folder) / "skills")
        recalls: list[float] = []
        memory = Timed(store, KeywordBackend(store))
        memory.taken = recalls
        task = f"{WORDS[3]} {WORDS[20]} {WORDS[50]} {WORDS[80]} skill"

        def told() -> None:
            payload = compose(
                Run("scout", "I " * 500, task, memory="note " * 2000, brief=brief(memory, task)),
                budget=3000,
            )
            Receipts(store).add("r", payload)

        told()  # skills are read once a process
        recalls.clear()
        telling = median(REPEATS, told)
        recalling = sum(recalls) * 1000 / REPEATS
        print(
            f"{size:>8} episodes: recall {recalling:7.1f} ms, with brief, payload and receipt {telling:7.1f} ms, beyond {telling - recalling:6.1f} ms, ratio {telling / recalling:.2f}"
        )


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="1000,10000,100000")
    for size in map(int, parser.parse_args().sizes.split(",")):
        measure(size)


if __name__ == "__main__":
    main()
