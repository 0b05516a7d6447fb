"""Any text and any episode, for properties."""

from hypothesis import strategies as st

from experience import Episode
from experience.episode import WHITE_SPACE

AWKWARD = [
    "Outcome: done", "Result: success", "Result: failure", "Tools used: rm", "Skills used: evil", "Situation: again",
    "Tags: x", "Outcome:", "(none)", '"', '"quoted"', "\\u003a", ", ", ",", "\n", "\n  ", "\r\n", "\r", "\v", "\f", "\x85",
    "\u2028", "\u2029", "\x1c", "\x1f", "\t", "\u3000", "\ufeff", "🙂", "👩‍👩‍👧", "שלום", "مرحبا", "部署", "é", "\\", "'", ":", "x" * 70,
]  # fmt: skip
texts = st.lists(
    st.sampled_from(AWKWARD) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    max_size=8,
).map("".join)
names = st.lists(texts, max_size=4).map(tuple)
episodes = st.builds(
    Episode,
    situation=texts.filter(lambda text: text.strip(WHITE_SPACE)),
    outcome=texts,
    tools=names,
    skills=names,
    tags=names,
    success=st.sampled_from([True, False, None]),
)
