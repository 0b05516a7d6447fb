"""The main job, shown on the packaged sample: import, index, recall a few situations in every mode."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from experience.backends import NAMES
from experience.memory import Memory
from experience.printing import match_block
from experience.transfer import import_lines

SITUATIONS = (
    "The image build stops because the disk of the build machine is full",
    "Make sure that customers are not charged twice when they press the button twice",
    "促销时订单太多，库存变成了负数",
)


def sample(name: str) -> list[bytes]:
    """The lines of a file of the sample: episodes.jsonl, queries.jsonl or qrels.tsv."""
    return files("experience").joinpath("data", name).read_bytes().splitlines()


def show_demo(encoder: str | None, say: Callable[[str], object], refresh: Callable[[Memory], int], width: int) -> None:
    """Say what a person wants to see of a store with the sample in it; the store is thrown away."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "demo.db"
        with Memory.open(path, "hybrid", encoder) as memory:
            done = import_lines(memory.store, sample("episodes.jsonl"))
            say(f"recorded {done.new} episodes; embedded {refresh(memory)}")
        for situation in SITUATIONS:
            for name in NAMES:
                say(f"\n== {name}: {situation}")
                with Memory.open(path, name, encoder) as memory:
                    for rank, match in enumerate(memory.recall(situation, k=2), 1):
                        say(match_block(rank, match, width))
