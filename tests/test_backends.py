"""One contract, and every backend keeps it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import texts

from experience import Episode, Filter, Hit, InvalidInput, Memory, SqliteStore
from experience.backends import NAMES, open_backend
from experience.backends.encoders import MiniLM
from experience.backends.hybrid import HybridBackend
from experience.testing import Clock, HashEncoder

MINILM = "embedding by MiniLM"


@pytest.fixture(scope="module")
def minilm():
    return MiniLM()


@pytest.fixture(params=[*NAMES, MINILM])
def opened(request, path):
    """A way to open a memory on the same file, again and again, in one namespace or another."""
    encoder = request.getfixturevalue("minilm") if request.param == MINILM else HashEncoder()
    name = "embedding" if request.param == MINILM else request.param
    stores = []

    def open_memory(namespace="default", clock=None):
        store = SqliteStore(path, namespace, **({"clock": clock} if clock else {}))
        stores.append(store)
        return Memory(store, open_backend(name, store, encoder))

    yield open_memory
    for store in stores:
        store.close()


@pytest.fixture
def memory(opened):
    return opened()


def ids(matches):
    return [match.id for match in matches]


DEPLOY = Episode("deploy the website to staging", "live", tools=("shell",), success=True)
BAKE = Episode("bake bread for the office party", "eaten", tools=("oven",), success=False)


def test_recorded_is_recalled(memory):
    expected = memory.record(DEPLOY)
    memory.record(BAKE)

    [match] = memory.recall("deploy website", k=1)

    assert (match.id, match.episode) == (expected, DEPLOY)
    assert match.why


def test_what_is_recorded_later_is_recalled_too(memory):
    memory.record(BAKE)
    memory.recall("bread", k=1)
    later = memory.record(DEPLOY)

    assert ids(memory.recall("deploy website", k=1)) == [later]


def test_deleted_is_never_recalled(memory):
    gone, stays = memory.record(DEPLOY), memory.record(Episode("deploy the website again", "o"))
    memory.recall("deploy website", k=2)
    memory.delete(gone)

    assert ids(memory.recall("deploy website", k=5)) == [stays]


def test_deleting_one_of_equals_leaves_the_others(memory):
    same = [memory.record(Episode("deploy the website", f"outcome {number}")) for number in range(3)]
    memory.recall("deploy", k=3)
    memory.delete(same[1])

    assert ids(memory.recall("deploy the website", k=3)) == [same[2], same[0]]


def test_a_superseded_version_is_never_recalled(memory):
    memory.record(DEPLOY, run_id="r")
    memory.recall("deploy", k=3)
    new = memory.record(Episode("deploy the website to staging, then test it", "o"), run_id="r", supersede=True)

    assert ids(memory.recall("deploy the website", k=3)) == [new]


def test_an_expired_one_is_never_recalled(opened):
    clock = Clock()
    memory = opened(clock=clock)
    memory.record(DEPLOY, expires_at=clock() + timedelta(hours=1))
    assert memory.recall("deploy", k=3)
    clock.advance(hours=2)

    assert memory.recall("deploy", k=3) == []


@pytest.mark.parametrize(
    "query",
    ["AND", "NEAR(", "OR NOT", "*", '"', "''", "a OR", "foo(bar)*", "c++ -> x", "what's new", "situation:x", "-", "^", "{a b}", "\\", "%",
     "x" * 20_000, "word " * 4_000, "部署" * 10_000, " ".join(f"term{n}" for n in range(3_000)), "\0deploy", "\ud800", "deploy \ud800 it", "🙂"],
)  # fmt: skip
def test_no_text_is_syntax(memory, query):
    memory.record(DEPLOY)

    assert len(memory.recall(query, k=3)) <= 1


@pytest.mark.parametrize("query", ["", " \n", "*", '"', "( )", "🙂", "--"])
def test_a_text_without_words_recalls_nothing(memory, query):
    memory.record(DEPLOY)

    assert memory.recall(query, k=3) == []


def test_nothing_is_recalled_from_an_empty_store(memory):
    assert memory.recall("deploy", k=3) == []
    assert memory.refresh() == 0


def test_a_filter_never_starves(memory):
    wanted = [
        memory.record(Episode(f"deploy the old website, part {number}", "o", tags=("rare",))) for number in range(3)
    ]
    for number in range(120):
        memory.record(Episode(f"deploy the website {number}", "o"))
    memory.refresh()

    found = memory.recall("deploy the website", k=3, where=Filter(tags=("rare",)))

    assert sorted(ids(found)) == wanted


def test_a_filter_on_the_verdict_follows_late_labels(memory):
    good, bad = memory.record(DEPLOY), memory.record(Episode("deploy the website at night", "down", success=False))

    assert ids(memory.recall("deploy", where=Filter(success=True))) == [good]
    memory.label(bad, True, kind="human")
    assert sorted(ids(memory.recall("deploy", where=Filter(success=True)))) == [good, bad]
    assert memory.recall("deploy", where=Filter(success=False)) == []


def test_every_part_of_a_filter_is_applied(memory):
    when = datetime(2026, 5, 4, tzinfo=UTC)
    episode = Episode("deploy", "o", tools=("t",), skills=("s",), tags=("g",), success=True, started_at=when)
    id = memory.record(episode)
    day = timedelta(days=1)
    passes = Filter(True, ("t",), ("s",), ("g",), when, when + day, (id,))
    blocked = [
        Filter(success=False), Filter(tools=("x",)), Filter(skills=("x",)), Filter(tags=("x",)), Filter(since=when + day),
        Filter(until=when), Filter(ids=()), Filter(ids=(id + 1,)),
    ]  # fmt: skip

    assert ids(memory.recall("deploy", where=passes)) == [id]
    assert all(memory.recall("deploy", where=where) == [] for where in blocked)


def test_equal_scores_come_newest_first(memory):
    same = [memory.record(Episode("deploy the website", f"outcome{number}")) for number in range(12)]

    assert ids(memory.recall("website", k=5)) == same[:-6:-1]


def test_there_are_at_most_k(memory):
    for number in range(10):
        memory.record(Episode(f"deploy website {number}", "o"))

    assert [len(memory.recall("deploy website", k=k)) for k in (0, 1, 3, 10, 99)] == [0, 1, 3, 10, 10]
    with pytest.raises(InvalidInput, match="k is -1"):
        memory.recall("deploy", k=-1)
    with pytest.raises(InvalidInput, match="k is -1"):
        memory.backend.recall("deploy", -1)


def test_the_best_come_first(memory):
    memory.record(BAKE)
    best = memory.record(DEPLOY)
    memory.record(Episode("paint the staging area of the theatre", "o"))

    matches = memory.recall("deploy the website to staging", k=3)

    assert matches[0].id == best
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)


def test_another_connections_writes_and_deletes_are_seen(opened):
    here, there = opened(), opened()
    first = there.record(DEPLOY)
    assert ids(here.recall("deploy", k=5)) == [first]
    second = there.record(Episode("deploy the website to production", "o"))
    assert sorted(ids(here.recall("deploy", k=5))) == [first, second]
    there.delete(first)

    assert ids(here.recall("deploy", k=5)) == [second]


def test_a_namespace_never_leaks(opened):
    ours, theirs = opened("ours"), opened("theirs")
    theirs.record(DEPLOY)
    secret = theirs.record(Episode("deploy with the key hunter2", "o"))

    assert ours.recall("deploy hunter2", k=5) == []
    assert ours.recall("deploy", where=Filter(ids=(secret,))) == []
    mine = ours.record(Episode("deploy our own thing", "o"))
    assert ids(ours.recall("deploy", k=5)) == [mine]
    with pytest.raises(LookupError):
        ours.get(secret)
    with pytest.raises(LookupError):
        ours.delete(secret)
    assert theirs.count() == 2


def test_copies_of_one_episode_do_not_fill_the_answer(memory):
    for _ in range(30):
        newest = memory.record(DEPLOY)
    other = memory.record(Episode("deploy the shop", "o"))

    assert sorted(ids(memory.recall("deploy the website to staging", k=3))) == [newest, other]


def test_refreshing_twice_is_refreshing_once(memory):
    for number in range(5):
        memory.record(Episode(f"task {number}", "o"))
    memory.refresh()

    assert memory.refresh() == 0
    assert memory.backend.pending() == 0


def test_progress_goes_up_to_the_total(memory):
    for number in range(40):
        memory.record(Episode(f"task {number}", "o"))
    seen = []
    done = memory.refresh(lambda now, total: seen.append((now, total)))

    assert (not seen and done == 0) or seen[-1] == (40, 40)
    assert seen == sorted(seen)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    with SqliteStore(tmp_path_factory.mktemp("any") / "runs.db") as store:
        memory = Memory(store, open_backend("hybrid", store, HashEncoder()))
        for episode in (DEPLOY, BAKE):
            memory.record(episode)
        yield memory


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts)
def test_any_text_at_all_can_be_asked(filled, text):
    assert len(filled.recall(text, k=2)) <= 2


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("我们需要部署网站", "网"), ("我们需要部署网站", "部署"), ("请重启k8s集群", "k8s"), ("猫を飼う", "猫"), ("서버를 재시작", "서버"),
        ("서버를 재시작", "재"), ("run deploy.sh now", "deploy.sh"), ("run deploy.sh now", "deploy"), ("use C++ here", "C++"),
        ("pass --dry-run first", "--dry-run"), ("pass --dry-run first", "dry"), ("rename snake_case", "snake"),
        ("rename camelCase", "case"), ("on k8s", "K8S"), ("Deploying websites", "deploy website"), ("open a.b-c/d", "d"),
    ],
)  # fmt: skip
def test_keyword_finds_words_of_every_kind(store, stored, asked):
    memory = Memory(store, open_backend("keyword", store))
    expected = memory.record(Episode(stored, "o"))
    memory.record(Episode("something else entirely", "o"))

    assert ids(memory.recall(asked, k=5)) == [expected]


@pytest.mark.parametrize("label", ["situation", "tools used", "skills used", "result", "outcome", "tags", "none"])
def test_keyword_does_not_index_labels(store, label):
    memory = Memory(store, open_backend("keyword", store))
    memory.record(DEPLOY)

    assert memory.recall(label, k=5) == []


def test_keyword_finds_outcomes_tools_skills_and_tags(store):
    memory = Memory(store, open_backend("keyword", store))
    id = memory.record(Episode("s", "an outcome", tools=("pg_dump",), skills=("release-runbook",), tags=("nightly",)))

    assert all(ids(memory.recall(asked)) == [id] for asked in ("outcome", "pg_dump", "dump", "runbook", "nightly"))


def test_hybrid_says_the_rank_in_each_arm(store):
    memory = Memory(store, open_backend("hybrid", store, HashEncoder()))
    memory.record(DEPLOY)

    assert memory.recall("deploy")[0].why == "keyword 1, embedding 1"
    assert memory.recall("unheard of", floor=False)[0].why == "embedding 1"


def test_an_unknown_backend_is_refused_naming_the_known(store):
    with pytest.raises(InvalidInput, match="keyword, embedding, hybrid"):
        open_backend("vector", store)


class Arm:
    """Finds what it is told to find."""

    def __init__(self, *ids):
        self.ids = ids
        self.asked = []

    def recall(self, situation, k, where=Filter()):
        self.asked.append((situation, k, where))
        return [Hit(id, 1 / rank, f"arm {rank}") for rank, id in enumerate(self.ids[:k], 1)]

    def pending(self):
        return len(self.ids)

    def refresh(self, progress=None):
        return len(self.ids)


def test_hybrid_adds_the_scores_of_both_arms_and_a_little_for_their_ranks():
    meaning = Arm(2, 4)
    meaning.recall = lambda *_: [Hit(2, 0.8, "arm 1"), Hit(4, 0.5, "arm 2")]
    hits = HybridBackend(Arm(1, 2, 3), meaning).recall("x", 10)  # one word: words weigh 0.3, meaning 0.7

    assert [(hit.id, hit.score) for hit in hits] == [
        (2, pytest.approx(0.3 / 2 + 0.6 / 12 + 0.7 * 0.8 + 0.6 / 11)), (4, pytest.approx(0.7 / 2 + 0.6 / 12)),
        (1, pytest.approx(0.3 + 0.6 / 11)), (3, pytest.approx(0.3 / 3 + 0.6 / 13)),
    ]  # fmt: skip
    assert hits[0].why == "arm 2, arm 1"
    assert hits == HybridBackend(Arm(1, 2, 3), meaning).recall("x", 10)


def test_words_weigh_more_in_a_long_question():
    long = " ".join(f"word{number}" for number in range(20))
    [first, second] = HybridBackend(Arm(1), Arm(2)).recall(long, 2)

    assert (first.id, second.id) == (2, 1), "as much as meaning, and then the newer comes first"
    assert first.score == second.score == pytest.approx(0.5 + 0.6 / 11)
    assert [hit.id for hit in HybridBackend(Arm(1), Arm(2)).recall("word", 2)] == [2, 1]


def test_what_scores_the_same_in_an_arm_ranks_the_same_in_the_fusion():
    arm = Arm(4, 3, 2, 1)
    arm.recall = lambda *_: [Hit(4, 0.9, ""), Hit(3, 0.5, ""), Hit(2, 0.5, ""), Hit(1, 0.4, "")]

    hits = HybridBackend(arm, Arm()).recall("x", 4)

    assert [(hit.id, hit.score) for hit in hits] == [
        (4, pytest.approx(0.27 + 0.6 / 11)), (3, pytest.approx(0.15 + 0.6 / 12)),
        (2, pytest.approx(0.15 + 0.6 / 12)), (1, pytest.approx(0.12 + 0.6 / 14)),
    ]  # fmt: skip


def test_what_an_arm_had_no_room_for_counts_as_the_last_it_had(memory):
    full = Arm(*range(1, 201))
    hits = {hit.id: hit.score for hit in HybridBackend(Arm(999), full).recall("x", 10)}
    assert hits[999] == pytest.approx(0.3 + 0.6 / 11 + 0.7 / 200)


def test_hybrid_asks_both_arms_deeply_and_with_the_filter():
    one, two = Arm(), Arm()
    where = Filter(success=True)
    HybridBackend(one, two).recall("x", 3, where)
    HybridBackend(one, two).recall("x", 500, where)

    assert one.asked == two.asked == [("x", 200, where), ("x", 500, where)]


def test_a_keyword_score_is_the_share_of_the_question_that_a_text_says(store):
    backend = open_backend("keyword", store)
    wanted = store.record(Episode("rotate the vault keys of the billing service", "done")).id
    for number in range(40):
        store.record(Episode(f"bake bread number {number} for the party", "done"))
    [all_of_it] = backend.recall("rotate vault keys billing service", 1)
    [part] = backend.recall("rotate vault keys aardvark zebra", 1)
    assert all_of_it.id == part.id == wanted
    assert 0.8 < all_of_it.score < 1.2
    assert 0.4 < part.score < 0.75


def test_a_question_of_very_many_words_starves_no_filter_and_asks_for_a_thousand(store, monkeypatch):
    from experience.backends.lists import Index

    of = Index.of
    backend = open_backend("keyword", store)
    wanted = store.record(Episode("deploy the website", "o", success=True)).id
    rare = " ".join(f"rare{number}x" for number in range(100))
    store.record(Episode(rare, "o", success=False))
    assert [hit.id for hit in backend.recall(f"{rare} deploy website", 5, Filter(success=True))] == [wanted]
    asked = []
    monkeypatch.setattr(Index, "of", lambda self, words: asked.append(words) or of(self, words))
    backend.recall(" ".join(f"word{number}x" for number in range(5000)), 1)

    assert len(asked[0]) == 1000
