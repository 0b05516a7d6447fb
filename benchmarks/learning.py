"""What is learned from runs, and whether the guilty are found: simulated runs, real runs, and many runs.

    python benchmarks/learning.py                     every part
    python benchmarks/learning.py --part simulation   guilty skills among innocent ones
    python benchmarks/learning.py --part distill      drafts from real runs in ../shared/data
    python benchmarks/learning.py --part guilty       one guilty skill among real runs in ../shared/data
    python benchmarks/learning.py --part scale        distilling many made-up runs

Everything goes through a store: runs are recorded, embedded, judged. Simulated runs are embedded by a hash, real ones by
the packaged model. Parts that want real data are left out, visibly, where there is none.
"""

import json
import random
import resource
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter

import click

from experience.backends.embedding import EmbeddingBackend
from experience.backends.encoders import open_encoder
from experience.episode import Episode
from experience.learn.batch import distill_all
from experience.learn.health import SkillHealth, skill_health
from experience.memory import Memory
from experience.protocols import Encoder
from experience.store import SqliteStore
from experience.testing import HashEncoder

PARTS = ("simulation", "distill", "guilty", "scale")
EXTRA = 0.35  # what each guilty skill adds to the chance to fail
INTENT = "airline:no_write_action"  # the one that is made guilty: it has most runs
WORDS = (
    "deploy refund cancel book migrate review invoice schedule translate summarise archive notify resize merge".split()
)
THINGS = (
    "website flight order database contract photo meeting report ticket parcel account server invoice branch".split()
)


def remembered(store: SqliteStore, episodes: Iterable[Episode], encoder: Encoder) -> Memory:
    """A memory of these runs, embedded."""
    memory = Memory(store, EmbeddingBackend(store, encoder))
    with store.write():
        for episode in episodes:
            memory.record(episode)
    memory.refresh()
    return memory


def simulated(
    seed: int, *, runs: int, skills: int, each: int, guilty: int, base: float
) -> tuple[list[Episode], set[str]]:
    """Runs of 40 kinds of situation that each follow some skills, and the names of the guilty."""
    rng = random.Random(seed)
    names = [f"skill-{number}" for number in range(skills)]
    culprits = set(rng.sample(names, guilty))
    kinds = [f"{rng.choice(WORDS)} the {rng.choice(THINGS)} number" for _ in range(40)]
    episodes = []
    for number in range(runs):
        followed = tuple(rng.sample(names, each))
        failed = rng.random() < base + EXTRA * len(culprits & set(followed))
        episodes.append(
            Episode(f"{rng.choice(kinds)} {number}", "", tools=("a", "b"), skills=followed, success=not failed)
        )
    return episodes, culprits


def simulation(seeds: int) -> list[dict[str, object]]:
    """How many of the guilty are flagged, and how many of the flagged are guilty."""
    rows = []
    for runs, skills, each, guilty, base in (
        (2000, 60, 3, 3, 0.3),
        (500, 60, 3, 3, 0.3),
        (2000, 60, 3, 0, 0.3),
        (200, 10, 1, 1, 0.2),
    ):
        counts: Counter[str] = Counter()
        for seed in range(seeds):
            episodes, culprits = simulated(seed, runs=runs, skills=skills, each=each, guilty=guilty, base=base)
            with SqliteStore(":memory:") as store:
                health = skill_health(remembered(store, episodes, HashEncoder(width=64)))
            flagged = {one.skill for one in health if one.convicted}
            counts.update(guilty=len(culprits), flagged=len(flagged), right=len(flagged & culprits))
        rows.append(
            {
                "runs": runs, "skills": skills, "a run": each, "guilty": guilty, "base failure": base, "seeds": seeds,
                "guilty flagged": f"{counts['right']} of {counts['guilty']}",
                "flags wrong": f"{counts['flagged'] - counts['right']} of {counts['flagged']}",
            }
        )  # fmt: skip
    return rows


def confounded(seeds: int) -> list[dict[str, object]]:
    """An innocent skill that is mostly used for a hard kind of task: how often it is convicted."""
    rows = []
    for hard, share in ((0.9, 0.9), (0.85, 0.8), (0.7, 0.5)):
        convicted = 0
        for seed in range(seeds):
            rng = random.Random(seed)
            episodes = []
            for number in range(200):
                tough = number % 2 == 0
                followed = rng.random() < (share if tough else 1 - share)
                failed = rng.random() < (hard if tough else 0.1)
                what = (
                    "migrate the old database with all of its broken rows"
                    if tough
                    else "greet the customer in the chat"
                )
                episodes.append(
                    Episode(
                        f"{what} {number}",
                        "",
                        tools=("a",),
                        skills=("innocent",) if followed else (),
                        success=not failed,
                    )
                )
            with SqliteStore(":memory:") as store:
                health = skill_health(remembered(store, episodes, HashEncoder(width=64)))
            convicted += sum(one.convicted for one in health)
        rows.append(
            {"hard kind fails": hard, "followed in its runs": share, "seeds": seeds, "innocent convicted": convicted}
        )
    return rows


def real(data: Path, name: str) -> list[dict[str, object]]:
    """The lines of one file of real runs."""
    return [json.loads(line) for line in (data / "episodes" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def distilled(data: Path) -> list[dict[str, object]]:
    """What becomes of real runs."""
    rows = []
    for name in ("tau_airline_gpt4o", "hotpotqa_reflexion"):
        episodes = [
            Episode(str(row["situation"]), str(row["outcome"]), tools=tuple(row["tools"]), success=row["success"])  # type: ignore[arg-type]
            for row in real(data, name)
        ]
        with SqliteStore(":memory:") as store:
            memory = remembered(store, episodes, open_encoder(None))
            began = perf_counter()
            report = distill_all(memory)
            seconds = perf_counter() - began
        reasons = Counter(type(skipped.refusal).__name__ for skipped in report.skipped)
        rows.append(
            {
                "data": name, "runs": report.runs, "successes": report.successes, "kinds": report.groups,
                "drafts": len(report.drafts), **reasons, "seconds": round(seconds, 2),
                "names": ", ".join(draft.name for draft in report.drafts),
            }
        )  # fmt: skip
    return rows


def one_guilty(data: Path, seed: int) -> list[SkillHealth]:
    """Real runs, half of each intent following a skill of its own; where the guilty one is followed, nine in ten fail."""
    rng = random.Random(seed)
    episodes = []
    for row in real(data, "tau_airline_gpt4o"):
        followed = rng.random() < 0.5
        success = rng.random() < 0.1 if followed and row["group"] == INTENT else bool(row["success"])
        skill = str(row["group"]).split(":")[1].replace("_", "-").replace("+", "-and-")
        episodes.append(
            Episode(
                str(row["situation"]), str(row["outcome"]), tools=tuple(row["tools"]),  # type: ignore[arg-type]
                skills=(skill,) if followed else (), success=success,
            )
        )  # fmt: skip
    with SqliteStore(":memory:") as store:
        return skill_health(remembered(store, episodes, open_encoder(None)))


def guilty_table(data: Path, seeds: int) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Every skill's health under the first seed, and over all seeds how often who is convicted."""
    rows, counts = [], Counter[str]()
    culprit = INTENT.split(":")[1].replace("_", "-")
    for seed in range(seeds):
        for one in one_guilty(data, seed):
            counts["guilty" if one.skill == culprit else "innocent"] += one.convicted
            if seed == 0:
                rows.append(
                    {
                        "skill": one.skill, "flagged": one.convicted, "worked": one.followed.worked,
                        "failed": one.followed.failed, "similar worked": one.similar.worked,
                        "similar failed": one.similar.failed, "P(harm)": round(one.probability_of_harm, 3),
                        "q": round(one.q_value, 3),
                    }
                )  # fmt: skip
    return rows, {"seeds": seeds, "guilty convicted": counts["guilty"], "innocent convicted": counts["innocent"]}


def scale(runs: int) -> dict[str, object]:
    """Distilling many made-up runs: 300 kinds of task, six in ten of them successes."""
    rng = random.Random(0)
    kinds = [
        (" ".join(rng.choice(WORDS) + " " + rng.choice(THINGS) for _ in range(4)), rng.sample([f"tool_{n}" for n in range(60)], 5))
        for _ in range(300)
    ]  # fmt: skip
    episodes = []
    for number in range(runs):
        words, tools = rng.choice(kinds)
        said = " ".join(word for word in words.split() if rng.random() < 0.9)
        ends = rng.random() < 0.6
        episodes.append(
            Episode(f"please {said} for case {number}", "", tools=tuple(tools[: 5 if ends else 3]), success=ends)
        )
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "runs.db") as store:
        memory = remembered(store, episodes, HashEncoder(width=384))
        began = perf_counter()
        report = distill_all(memory)
        first = perf_counter() - began
        began = perf_counter()
        distill_all(memory)
        return {
            "runs": runs, "kinds": report.groups, "drafts": len(report.drafts), "distill s": round(first, 1),
            "nothing new s": round(perf_counter() - began, 3),
            "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }  # fmt: skip


def show(title: str, rows: Sequence[dict[str, object]]) -> None:
    """A table for the documentation."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    print(f"\n{title}\n\n| {' | '.join(keys)} |\n|{'---|' * len(keys)}")
    for row in rows:
        print(f"| {' | '.join(str(row.get(key, 0)) for key in keys)} |")


@click.command()
@click.option("--part", type=click.Choice(PARTS), multiple=True, help="Only these.")
@click.option("--data", type=click.Path(path_type=Path), default=Path(__file__).parents[2] / "shared" / "data")
@click.option("--seeds", default=20, show_default=True)
@click.option("--runs", default=10_000, show_default=True, help="For the part scale.")
def main(part: tuple[str, ...], data: Path, seeds: int, runs: int) -> None:
    """Measure what is learned."""
    parts = part or PARTS
    there = (data / "episodes").is_dir()
    if not there:
        click.echo(f"no real data in {data}: the parts distill and guilty are left out", err=True)
    if "scale" in parts:  # first, while nothing else has taken memory
        show("Many runs", [scale(runs)])
    if "simulation" in parts:
        show("Simulated runs", simulation(seeds))
        show("An innocent skill of a hard task", confounded(seeds))
    if "distill" in parts and there:
        show("Real runs, distilled", distilled(data))
    if "guilty" in parts and there:
        rows, counts = guilty_table(data, seeds)
        show("One guilty skill among real runs, first seed", rows)
        show("Over all seeds", [counts])


if __name__ == "__main__":
    main()
