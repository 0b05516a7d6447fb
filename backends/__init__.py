"""The rankings: by keyword, by embedding, by both. `open_backend` finds one by its name.

Nothing is imported before it is asked for: a recall by keyword must not wait for a tokenizer and a model, and nobody should
pay for torch or faiss who does not use it.
"""

from typing import TYPE_CHECKING

from experience.errors import InvalidInput
from experience.protocols import Backend, Encoder

if TYPE_CHECKING:
    from experience.store import SqliteStore

NAMES = ("keyword", "embedding", "hybrid")


def open_backend(name: str, store: "SqliteStore", encoder: Encoder | str | None = None) -> Backend:
    """The backend of this name over a store.

    `encoder` is an encoder, the name of one, or None for the one that the store's vectors were made with (on a new
    store: the packaged MiniLM). Raises InvalidInput for an unknown name.
    """
    if name == "keyword":
        from experience.backends.keyword import KeywordBackend

        return KeywordBackend(store)
    if name not in NAMES:
        raise InvalidInput(f"there is no backend {name!r}; choose one of {', '.join(NAMES)}")
    from experience.backends.embedding import EmbeddingBackend
    from experience.backends.encoders import open_encoder

    chosen = encoder or store.setting("encoder")
    embedding = EmbeddingBackend(store, open_encoder(chosen) if chosen is None or isinstance(chosen, str) else chosen)
    if name == "embedding":
        return embedding
    from experience.backends.hybrid import HybridBackend
    from experience.backends.keyword import KeywordBackend

    return HybridBackend(KeywordBackend(store), embedding, store)
