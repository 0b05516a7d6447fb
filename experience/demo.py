"""The main job, shown on the packaged sample: import, index, recall a few situations in every mode."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from experience.backends import NAMES, open_backend
from experience.memory import Memory
from experience.printing import match_block
from experience.store import SqliteStore
from experience.transfer import import_lines

SITUATIONS = (
    "A test fails only around midnight at the end of the month",
    "Parcel marked as delivered but the customer never got it",
    "The image build stops because the disk of the build machine is full",
    "促销时很多人同时下单，库存变成了负数",
)


def sample(name: str) -> list[bytes]:
    """The lines of a file of the sample: episodes.jsonl, queries.jsonl or qrels.tsv."""
    return files("experience").joinpath("data", name).read_bytes().splitlines()


def show_demo(encoder: str | None, say: Callable[[str], object], refresh: Callable[[Memory], int], width: int) -> None:
    """Say what a person wants to see of a store with the sample in it; the store is thrown away."""
    say("Recording the sample: runs of software, data, web, support and office work, in eleven languages.")
    with TemporaryDirectory() as folder, SqliteStore(Path(folder) / "demo.db") as store:
        done = import_lines(store, sample("episodes.jsonl"))
        memories = {name: Memory(store, open_backend(name, store, encoder)) for name in NAMES}
        say(f"Recorded {done.new} episodes; embedded {refresh(memories['embedding'])}.")
        say(
            "Now each new situation with the two past runs most like it: [id], score (of each ranking's own kind), result."
        )
        for situation in SITUATIONS:
            for name, memory in memories.items():
                say(f"\n== {name}: {situation}")
                for rank, match in enumerate(memory.recall(situation, k=2), 1):
                    say(match_block(rank, match, width))
    say('\nYour turn: experience record "what was asked" --outcome "how it ended" --success')
    say('           experience recall "what is asked now"')
