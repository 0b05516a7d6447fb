"""What a text costs, and how a budget is parted."""

from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from experience.tell.budget import count_bytes, estimate_tokens, fair_shares
from experience.tell.shorten import size_of


def test_english_is_four_characters_a_token_and_chinese_one():
    assert estimate_tokens("") == 0
    assert estimate_tokens("a" * 400) == 100
    assert estimate_tokens("部署网站" * 100) == 400
    assert estimate_tokens("привет" * 100) == 300
    assert estimate_tokens("🙂" * 10) == 20


@given(texts, texts)
def test_an_estimate_grows_with_the_text_and_never_says_that_something_is_nothing(one, other):
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)
    assert estimate_tokens(one + other) >= estimate_tokens(one)
    assert bool(estimate_tokens(one)) == bool(one)
    assert count_bytes(one) == len(one.encode())


def test_what_small_ones_leave_is_handed_on():
    assert fair_shares([40_000, *[10] * 9], 32_768) == [32_768 - 90, *[10] * 9]
    assert fair_shares([5, 5], 3) == [2, 1]
    assert fair_shares([], 3) == []


@given(st.lists(st.integers(0, 1000), max_size=12), st.integers(-5, 5000))
def test_shares_spend_all_there_is_and_nobody_gets_more_than_it_needs(needs, total):
    shares = fair_shares(needs, total)

    assert sum(shares) == min(sum(needs), max(total, 0))
    assert all(share <= need for share, need in zip(shares, needs, strict=True))
    short = [share for share, need in zip(shares, needs, strict=True) if share < need]
    if short:  # nobody that goes short gets less, but for the one that cannot be parted, than anybody else gets
        assert max(shares) <= min(short) + 1


def test_half_a_surrogate_pair_is_three_bytes_wherever_it_is_counted():
    assert count_bytes("\ud800x") == size_of("\ud800x") == 4


def test_parting_among_many_is_not_slower_for_each_of_them():
    def steps(many):
        """How many comparisons it takes, as each need is a number that counts them."""

        class Need(int):
            def __gt__(self, other):
                nonlocal found
                found += 1
                return int(self) > other

        found = 0
        fair_shares([Need(number) for number in range(many)], many * many)
        return found

    assert steps(4000) == 4 * steps(1000) == 4000
