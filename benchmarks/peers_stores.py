"""Every peer of `peers.py` by its name."""

from peers_memories import AgentRecall, AgentRecallSemantic, LangGraph, Mem0, Mem0Faiss
from peers_own import Hardwon, Numpy
from peers_store import Store
from peers_vectors import Chroma, Lance, SqliteVec, Txtai, TxtaiHybrid
from peers_words import Bm25s, Tantivy

PEERS: dict[str, type[Store]] = {
    "hardwon": Hardwon, "numpy": Numpy, "chromadb": Chroma, "lancedb": Lance, "sqlite-vec": SqliteVec,
    "langgraph sqlite": LangGraph, "mem0 qdrant": Mem0, "mem0 faiss": Mem0Faiss, "txtai": Txtai,
    "txtai hybrid": TxtaiHybrid, "agentrecall": AgentRecall, "agentrecall semantic": AgentRecallSemantic,
    "bm25s": Bm25s, "tantivy": Tantivy,
}  # fmt: skip
