"""Byte targets of a token teacher against plain sums and exact byte marginals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from probing.bridge.byteloss import divergence, surprisal
from probing.bridge.bytes import end_of_token, exact_next, marginalize
from probing.bridge.exact import log_marginals
from probing.bridge.kept import Kept
from probing.bridge.mass import Masses
from tests.firstorder import TokenLM, inventory_of, vocabulary
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.prefixes import Prefixes
from workbench.prefixmass import END, SPELLESS, along

SEEDS = range(8)
FIELDS = ("values", "byteless", "lost", "ending", "bound", "log_mass", "supported", "realised")


def case(seed: int, positions: int = 12) -> tuple[list[bytes], Masses, torch.Tensor, torch.Tensor]:
    """A random vocabulary with doubles and byte-less ids, logits with tails, and realised tokens."""
    chance = np.random.default_rng(seed)
    pieces = vocabulary(chance, 14)
    pieces += [pieces[0], b"", pieces[3], b""]
    index = Prefixes.of(inventory_of(pieces))
    logits = torch.from_numpy(chance.normal(0, 4, (positions, len(pieces))))
    logits[1] *= 40
    logits[2, ::3] = -torch.inf
    return pieces, Masses(index), logits, torch.from_numpy(chance.choice(index.order, positions))


def top(logits: torch.Tensor, k: int) -> Kept:
    values, ids = logits.log_softmax(1).topk(k)
    return Kept(ids, values)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_those_of_plain_masses(seed):
    pieces, masses, logits, ids = case(seed)
    found = end_of_token(masses, logits, ids)
    expected = along(logits.softmax(1), masses.index, ids)
    assert found.position.tolist() == expected.paths.position.tolist()
    assert found.depth.tolist() == expected.paths.depth.tolist()
    held = found.supported.numpy()
    np.testing.assert_allclose(found.values[held], expected.next[held, :SPELLESS], rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(found.byteless[held], expected.next[held, SPELLESS], rtol=1e-11)
    np.testing.assert_allclose(found.log_mass[held].exp(), expected.mass[held], rtol=1e-11)
    assert not found.lost.any()
    assert found.realised.tolist() == [byte for token in ids.tolist() for byte in (*pieces[token], END)]
    sums = found.values.sum(1) + found.byteless + found.lost
    np.testing.assert_allclose(sums, held, rtol=0, atol=1e-12)
    assert (found.ending == found.values[:, END]).all()
    assert not found.ending[found.depth == 0].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_chain_of_a_token_is_its_probability(seed):
    pieces, masses, logits, ids = case(seed)
    found = end_of_token(masses, logits, ids)
    q = logits.log_softmax(1)
    chain = torch.zeros(len(ids), dtype=torch.float64)
    chain.index_add_(0, found.position, found.values.gather(1, found.realised[:, None])[:, 0].log())
    for position, token in enumerate(ids.tolist()):
        same = [t for t, piece in enumerate(pieces) if piece == pieces[token]]
        expected = q[position, same].logsumexp(0).item()
        assert chain[position].item() == pytest.approx(expected, abs=1e-12 * max(1, -expected))
    # And of a sequence it is the product: nothing else is taken or given at the joints.
    finite = chain.isfinite()
    whole = found.values.gather(1, found.realised[:, None])[:, 0].log()
    assert whole[finite[found.position]].sum().item() == pytest.approx(chain[finite].sum().item(), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_marginalize_is_end_of_token_without_the_end(seed):
    _, masses, logits, ids = case(seed)
    plain, ends = marginalize(masses, logits, ids), end_of_token(masses, logits, ids)
    rows = ends.realised != END
    for name in ("position", "depth", "realised", "ending", "bound", "log_mass"):
        assert getattr(plain, name).equal(getattr(ends, name)[rows]), name
    held = plain.supported
    usual = held & (plain.ending < 1 - 1e-6)
    assert plain.columns == 256
    rest = (ends.values[rows, :END] / (1 - ends.ending[rows, None]))[usual]
    np.testing.assert_allclose(plain.values[usual], rest, rtol=1e-9)
    np.testing.assert_allclose((plain.values.sum(1) + plain.byteless)[held], 1, rtol=0, atol=1e-12)
    # Marginalize-It adds −log(1 − e) to the log-probability of each byte, which is not negative.
    at = plain.realised[:, None]
    gain = plain.values.gather(1, at).log() - ends.values[rows].gather(1, at).log()
    usual &= gain[:, 0].isfinite()  # a byte of probability below 1e-308 is 0 in both
    np.testing.assert_allclose(gain[usual, 0], -torch.log1p(-plain.ending[usual]), rtol=1e-6, atol=1e-12)
    assert (gain[usual] >= -1e-12).all()


def test_an_end_that_takes_nearly_all_leaves_the_rest_its_digits():
    masses = Masses(Prefixes.of(inventory_of([b"a", b"ab", b"ac"])))
    found = marginalize(masses, torch.tensor([[0.0, -60.0, -61.0]], dtype=torch.float64), torch.tensor([1]))
    expected = 1 / (1 + math.exp(-1))
    assert found.values[1, ord("b")].item() == pytest.approx(expected, rel=1e-14)
    assert found.ending[1] == 1


def test_the_quoted_example():
    masses = Masses(Prefixes.of(inventory_of([b"is", b"isa", b"ist", b"o"])))
    logits = torch.tensor([[0.125, 0.5, 0.125, 0.25]], dtype=torch.float64).log()
    found = end_of_token(masses, logits, torch.tensor([0]))
    assert found.values[2, END].item() == pytest.approx(1 / 6, abs=1e-15)
    assert found.bound[2].item() == pytest.approx(0.167, abs=5e-4)


@pytest.mark.parametrize("seed", range(20))
def test_no_marginalized_row_is_farther_from_the_truth_than_e(seed):
    """Exact byte marginals of a first-order model, where the prefix is the beginning of one token."""
    chance = np.random.default_rng(seed)
    model = TokenLM.random(chance, vocabulary(chance, 9, longest=3))
    masses = Masses(Prefixes.of(model.inventory))
    context = int(chance.integers(9))
    ids = torch.arange(9)
    logits = torch.from_numpy(model.q(context)).log().expand(9, -1)
    plain, ends = marginalize(masses, logits, ids), end_of_token(masses, logits, ids)
    firsts = torch.stack([
        masses.next_byte(torch.from_numpy(model.q(token))[None])[0, :END] for token in range(9)
    ])  # fmt: skip
    for row in range(len(ends)):
        prefix = model.pieces[ids[ends.position[row]]][: int(ends.depth[row])]
        named = model.pieces.index(prefix) if prefix in model.pieces else 0
        q = model.q(context)
        inside = sum(q[t] for t, piece in enumerate(model.pieces) if piece.startswith(prefix))
        exact = np.zeros(END)
        for letter in b"abc":
            longer = prefix + bytes([letter])
            exact[letter] = sum(q[t] for t, piece in enumerate(model.pieces) if piece.startswith(longer))
            if prefix in model.pieces:
                exact[letter] += q[named] * model.marginal(bytes([letter]), named)
        exact /= inside
        following = firsts[[named] * len(ends)]
        np.testing.assert_allclose(exact_next(ends, following)[row], exact, rtol=0, atol=1e-13)
        at = (plain.position == ends.position[row]) & (plain.depth == ends.depth[row])
        if at.any():
            distance = 0.5 * np.abs(plain.values[at][0].numpy() - exact).sum()
            assert distance <= plain.bound[at].item() + 1e-12
        if not prefix:
            assert exact == pytest.approx(plain.values[at][0].numpy(), abs=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_marginals_are_those_of_the_oracle(seed):
    chance = np.random.default_rng(seed)
    model = TokenLM.random(chance, vocabulary(chance, 7, longest=3))

    def predict(contexts):
        return np.log([model.q(tokens[-1] if tokens else -1) for tokens in contexts])

    index = Prefixes.of(model.inventory)
    for context in ((), (3,), (1, 2)):
        found = np.exp(log_marginals(index, predict, b"abcab", context))
        expected = [model.marginal(b"abcab"[:size], context[-1] if context else -1) for size in range(6)]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert log_marginals(index, predict, b"").tolist() == [0]
    with pytest.raises(SutureError, match="at most 2 contexts"):
        log_marginals(index, predict, b"abcabcabc", limit=2)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_end_of_token_chain_is_below_the_byte_marginal(seed):
    chance = np.random.default_rng(seed)
    model = TokenLM.random(chance, vocabulary(chance, 7, longest=3))
    masses = Masses(Prefixes.of(model.inventory))
    tokens = model.sample(chance, 4)
    rows = np.log([model.q(last) for last in [-1, *tokens[:-1]]])
    found = end_of_token(masses, torch.from_numpy(rows), torch.tensor(tokens))
    chain = found.values.gather(1, found.realised[:, None]).log().sum().item()
    text = b"".join(model.pieces[token] for token in tokens)
    assert chain <= math.log(model.marginal(text)) + 1e-12


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 4, 18])
@pytest.mark.parametrize("capped", [False, True])
def test_kept_ids_give_lower_bounds_and_say_what_was_lost(seed, k, capped):
    _, masses, logits, ids = case(seed)
    kept = top(logits, k)
    if capped:
        kept = kept._replace(most=kept.values.amin(1))
    lacking = (1 - kept.values.exp().sum(1)).clamp_min(0)
    for of in (marginalize, end_of_token):
        found, whole = of(masses, kept, ids), of(masses, logits, ids)
        sums = found.values.sum(1) + found.byteless + found.lost
        np.testing.assert_allclose(sums[found.supported], 1, rtol=0, atol=1e-12)
        assert not sums[~found.supported].any()
        slack = 1e-12
        assert (found.values <= whole.values + slack).all()
        assert (found.byteless <= whole.byteless + slack).all()
        held = whole.supported
        above = found.values + found.lost[:, None] - whole.values
        assert (above[held] >= -slack).all()
        assert (found.ending[held] <= whole.ending[held] + slack).all()
        assert (found.bound[held] >= whole.bound[held] - slack).all()
        roots = found.depth == 0
        np.testing.assert_allclose(found.lost[roots], lacking[found.position[roots]], rtol=0, atol=1e-12)
        if k == 18:
            np.testing.assert_allclose(found.values, whole.values, rtol=0, atol=1e-12)


def test_what_was_lost_is_what_could_lie_under_a_prefix():
    masses = Masses(Prefixes.of(inventory_of([b"a", b"ab", b"abc", b"b", b"c", b""])))
    q = torch.tensor([[0.3, 0.3, 0.1, 0.15, 0.1, 0.05]], dtype=torch.float64)
    kept = Kept(torch.tensor([[0, 1, 3]]), q[:, [0, 1, 3]].log())
    found = end_of_token(masses, kept, torch.tensor([1]))
    assert found.lost[0].item() == pytest.approx(0.25)
    assert found.lost[1].item() == pytest.approx(0.25 / 0.85)
    assert found.byteless[0] == 0
    tight = end_of_token(masses, kept._replace(most=torch.tensor([math.log(0.15)])), torch.tensor([1]))
    assert tight.lost[0].item() == pytest.approx(0.25)
    assert tight.lost[1].item() == pytest.approx(0.15 / 0.75)  # one id is left out there: "abc"
    rounded = end_of_token(masses, kept._replace(most=torch.tensor([math.log(0.0832)])), torch.tensor([1]))
    assert rounded.lost[0].item() == pytest.approx(
        0.25
    )  # three times the bound falls short of it by rounding
    beyond = Kept(torch.tensor([[1, 2, 3]]), q[:, [1, 2, 3]].log())
    plain, ends = (of(masses, beyond, torch.tensor([1])) for of in (marginalize, end_of_token))
    assert plain.lost[1] == 0  # all that goes on from "a" was kept; "a" itself was not
    assert ends.lost[1].item() == pytest.approx(0.45 / 0.85)
    assert plain.bound[1].item() == pytest.approx(0.45 / 0.85)


def test_a_prefix_without_mass_has_a_row_of_nothing():
    masses = Masses(Prefixes.of(inventory_of([b"a", b"ab", b"abc", b"b"])))
    logits = torch.tensor([[0.0, -torch.inf, -torch.inf, 0.0]], dtype=torch.float64)
    plain, ends = (of(masses, logits, torch.tensor([2])) for of in (marginalize, end_of_token))
    assert plain.supported.tolist() == [True, False, False]
    assert ends.supported.tolist() == [True, True, False, False]
    assert plain.values.sum(1).tolist() == [1, 0, 0]
    assert ends.values[1, END] == 1
    assert ends.log_mass.tolist() == [0, pytest.approx(-math.log(2)), -math.inf, -math.inf]
    assert divergence(torch.zeros(3, 256), plain)[1:].tolist() == [0, 0]


@given(st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_any_bytes_may_be_pieces(pieces, seed):
    masses = Masses(Prefixes.of(inventory_of([*pieces, b""])))
    chance = np.random.default_rng(seed)
    logits = torch.from_numpy(chance.normal(0, 3, (2, len(pieces) + 1)))
    ids = torch.from_numpy(chance.choice(len(pieces), 2))
    found = end_of_token(masses, logits, ids)
    expected = along(logits.softmax(1), masses.index, ids)
    np.testing.assert_allclose(found.values, expected.next[:, :SPELLESS], rtol=0, atol=1e-13)


def test_blocks_of_positions_make_no_difference(monkeypatch):
    monkeypatch.setattr("probing.bridge.bytes.CELLS", (5 * 18, 0))
    _, masses, logits, ids = case(3, positions=13)
    whole = end_of_token(masses, logits, ids)
    parts = [end_of_token(masses, logits[at : at + 1], ids[at : at + 1]) for at in range(len(ids))]
    for name in FIELDS:
        joined = torch.cat([getattr(part, name) for part in parts])
        assert torch.allclose(joined.double(), getattr(whole, name).double(), rtol=0, atol=1e-13), name
    kept = top(logits, 5)._replace(most=top(logits, 5).values.amin(1))
    whole = marginalize(masses, kept, ids)
    alone = marginalize(masses, kept.part(10, 11), ids[10:11])
    assert torch.allclose(whole.values[whole.position == 10], alone.values, rtol=0, atol=1e-13)


def test_no_positions_give_no_rows():
    _, masses, logits, ids = case(0)
    assert marginalize(masses, logits[:0], ids[:0]).values.shape == (0, 256)
    assert end_of_token(masses, logits[:0], ids[:0]).values.shape == (0, 257)


@pytest.mark.parametrize("of", [marginalize, end_of_token])
def test_gradients_reach_the_teacher(of):
    _, masses, logits, ids = case(5, positions=3)
    logits = (logits.clamp_min(-6) / 4).requires_grad_()

    def weighed(teacher):
        """One number, so that the check is short; random weights make every cell count."""
        found = of(masses, teacher, ids)
        chance = np.random.default_rng(1)
        mass = found.log_mass.masked_fill(found.log_mass == -torch.inf, 0)
        fields = (found.values, found.byteless, found.ending, mass)
        return sum((each * torch.from_numpy(chance.normal(size=each.shape))).sum() for each in fields)

    assert torch.autograd.gradcheck(weighed, logits)
    kept = top(logits.detach(), 6)
    values = (kept.values - 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: weighed(Kept(kept.ids, x)), values)


def test_masked_ids_have_a_gradient_of_zero():
    masses = Masses(Prefixes.of(inventory_of([b"a", b"ab", b"abc", b"b", b""])))
    logits = torch.tensor([[0.0, 1.0, -torch.inf, 0.5, -torch.inf]], dtype=torch.float64, requires_grad=True)
    for of in (marginalize, end_of_token):
        found = of(masses, logits, torch.tensor([2]))
        (gradient,) = torch.autograd.grad(found.values.square().sum(), logits)
        assert gradient.isfinite().all()
        assert gradient[0, [2, 4]].tolist() == [0, 0]


def test_narrow_logits_are_widened():
    _, masses, logits, ids = case(4)
    for kind, digits in ((torch.float32, 1e-4), (torch.bfloat16, 1e-12)):
        given_ = logits.clamp_min(-50).to(kind)
        found = end_of_token(masses, given_, ids)
        assert found.values.dtype == torch.float64
        wide = end_of_token(masses, given_.double(), ids)
        assert torch.allclose(found.values, wide.values, atol=1e-15)
        narrow = end_of_token(masses, given_, ids, dtype=torch.float32)
        assert narrow.values.dtype == torch.float32
        assert torch.allclose(narrow.values.double(), wide.values, atol=max(digits, 1e-4))


def student(targets, seed: int = 0, extra: int = 0) -> torch.Tensor:
    chance = np.random.default_rng(seed)
    return torch.from_numpy(chance.normal(size=(len(targets), targets.columns + extra)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("of", [marginalize, end_of_token])
def test_divergence_is_the_kl_of_a_student_that_gets_the_rest_right(seed, of):
    _, masses, logits, ids = case(seed)
    targets = of(masses, top(logits, 9), ids)
    for extra in (0, 1):
        scores = student(targets, seed, extra).requires_grad_()
        found = divergence(scores, targets)
        p = scores.detach().softmax(1).numpy()
        t = targets.values.numpy()
        if extra:
            t = np.concatenate([t, targets.byteless.numpy()[:, None]], axis=1)
        m = t.sum(1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.where(t > 0, t * np.log(t / (m * p)), 0).sum(1)
        np.testing.assert_allclose(found.detach(), expected, rtol=1e-10, atol=1e-12)
        assert (found >= -1e-12).all()
        (gradient,) = torch.autograd.grad(found.sum(), scores)
        np.testing.assert_allclose(gradient, m * p - t, rtol=0, atol=1e-12)
    perfect = targets.values.masked_fill(~targets.supported[:, None], 1).log()
    some = targets.values.sum(1) > 0
    assert divergence(perfect[some], _rows(targets, some)).abs().max() < 1e-12


def _rows(targets, some):
    return type(targets)(*(getattr(targets, name)[some] for name in type(targets).__dataclass_fields__))


def test_surprisal_is_of_the_text():
    _, masses, logits, ids = case(2)
    for of in (marginalize, end_of_token):
        targets = of(masses, logits, ids)
        scores = student(targets, extra=1).requires_grad_()
        found = surprisal(scores, targets)
        expected = -scores.log_softmax(1).gather(1, targets.realised[:, None])[:, 0]
        np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-12)
        (gradient,) = torch.autograd.grad(found.sum(), scores)
        hits = torch.zeros_like(scores).scatter(1, targets.realised[:, None], 1)
        np.testing.assert_allclose(gradient, scores.detach().softmax(1) - hits, rtol=0, atol=1e-12)


def test_the_sum_of_end_of_token_surprisal_is_the_teachers_own_for_a_student_that_copies_it():
    _, masses, logits, ids = case(6)
    targets = end_of_token(masses, logits, ids)
    copied = torch.cat([targets.values, targets.byteless[:, None]], dim=1).log()
    found = torch.zeros(len(ids), dtype=torch.float64)
    found.index_add_(0, targets.position, surprisal(copied, targets))
    pieces = masses.index.inventory.pieces
    q = logits.log_softmax(1)
    for position, token in enumerate(ids.tolist()):
        same = [t for t, piece in enumerate(pieces) if piece == pieces[token]]
        assert found[position].item() == pytest.approx(-q[position, same].logsumexp(0).item(), rel=1e-11)


def masked(logits: torch.Tensor, row: int, value: float) -> torch.Tensor:
    found = logits.clone()
    found[row, 0] = value
    return found


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        (lambda x: x[:, :-1], "must be .positions, 18."),
        (lambda x: torch.cat([x, x], 1), "cut off what the embedding matrix has more"),
        (lambda x: x[:-1], "one row of the teacher a realised token"),
        (lambda x: x[0], "one row of the teacher a realised token"),
        (lambda x: masked(x, 3, torch.nan), "row 3 is not so"),
        (lambda x: masked(x, 4, torch.inf), "numbers or −inf"),
        (lambda x: x - torch.inf, "not −inf alone"),
        (lambda x: top(x, 4)._replace(ids=top(x, 4).ids[:, :3]), "must have one shape"),
        (lambda x: top(x, 4)._replace(ids=top(x, 4).ids.double()), "must have one shape"),
        (lambda x: top(x, 4)._replace(ids=top(x, 4).ids + 15), "lie in 0..17"),
        (lambda x: top(x, 4)._replace(ids=top(x, 4).ids - 15), "lie in 0..17"),
        (lambda x: top(x, 4)._replace(ids=torch.zeros(12, 4, dtype=torch.long)), "must differ"),
        (lambda x: top(x, 4)._replace(values=top(x, 4).values + 1), "sum to at most 1"),
        (lambda x: top(x, 4)._replace(values=top(x, 4).values * torch.nan), "sum to at most 1"),
        (lambda x: top(x, 4)._replace(values=-torch.log(top(x, 4).values * 0)), "sum to at most 1"),
        (lambda x: Kept(torch.zeros(len(x), 0).long(), torch.zeros(len(x), 0)), "at least one id"),
        (lambda x: top(x, 4)._replace(most=torch.zeros(3)), "one bound a position"),
        (lambda x: top(x, 1)._replace(most=torch.full((12,), -50.0)), "must be able to hold"),
        (lambda x: top(x, 1)._replace(most=torch.full((12,), torch.nan)), "must be able to hold"),
    ],
)
def test_what_is_no_teacher_is_refused(teacher, message):
    _, masses, logits, ids = case(0)
    for of in (marginalize, end_of_token):
        with pytest.raises(SutureError, match=message) as caught:
            of(masses, teacher(logits), ids)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [-1, 18, 15])
def test_tokens_that_spell_nothing_are_refused(wrong):
    _, masses, logits, ids = case(0)
    ids[4] = wrong
    with pytest.raises(SutureError, match=f"got {wrong} at position 4"):
        marginalize(masses, logits, ids)
    with pytest.raises(SutureError, match="one whole number"):
        marginalize(masses, logits, ids.double())


def test_students_and_first_bytes_of_another_shape_are_refused():
    _, masses, logits, ids = case(0)
    targets, ends = marginalize(masses, logits, ids), end_of_token(masses, logits, ids)
    for loss in (divergence, surprisal):
        with pytest.raises(SutureError, match="student's logits must be"):
            loss(torch.zeros(len(targets), 258), targets)
        with pytest.raises(SutureError, match="numbers or −inf"):
            loss(torch.full((len(targets), 256), torch.nan), targets)
    with pytest.raises(SutureError, match="finite where the targets have mass"):
        divergence(student(targets).index_fill(1, torch.tensor([97]), -torch.inf), targets)
    for rows, following in ((targets, torch.zeros(len(targets), 256)), (ends, torch.zeros(3, 256))):
        with pytest.raises(SutureError, match="first-byte marginal of each"):
            exact_next(rows, following)


def test_wordpiece_is_refused(need):
    masses = Masses(Prefixes.of(load(need("bert")).inventory))
    with pytest.raises(SutureError, match="must spell the text byte for byte"):
        marginalize(masses, torch.zeros(1, masses.index.width), torch.tensor([2000]))


@pytest.mark.vocabs
@pytest.mark.parametrize("name", ["gpt2", "mistral-v3"])
def test_real_vocabularies(need, name):
    """Characters of several bytes, byte fallback and doubles, on a text's own tokens."""
    tokenizer = load(need(name))
    masses = Masses(Prefixes.of(tokenizer.inventory))
    chance = np.random.default_rng(0)
    ids = tokenizer.encode_batch(["naïve ☃ 𓀀 \u0915\u094d\u0937 tokenization\n"])
    tokens = torch.from_numpy(np.asarray(ids.ids, np.int64))
    tokens = tokens[torch.from_numpy(masses.index.node_of[tokens] >= 0)]
    logits = torch.from_numpy(chance.normal(0, 3, (len(tokens), masses.index.width)))
    found = end_of_token(masses, logits, tokens)
    text = bytes(byte for byte in found.realised.tolist() if byte != END)
    assert "𓀀".encode() in text
    assert text.endswith(b"tokenization\n")
    pieces = tokenizer.inventory.pieces
    q = logits.log_softmax(1)
    chain = torch.zeros(len(tokens), dtype=torch.float64)
    chain.index_add_(0, found.position, found.values.gather(1, found.realised[:, None])[:, 0].log())
    for position, token in enumerate(tokens.tolist()):
        node = masses.index.node_of[token]
        same = torch.from_numpy(masses.index.ids_at(node).copy())
        assert all(pieces[other] == pieces[token] for other in same.tolist())
        assert chain[position].item() == pytest.approx(q[position, same].logsumexp(0).item(), abs=1e-12)
    np.testing.assert_allclose(found.values.sum(1) + found.byteless, 1, rtol=0, atol=1e-12)
    held = marginalize(masses, logits, tokens)
    ends = found.values[found.realised != END]
    np.testing.assert_allclose(held.values, ends[:, :END] / (1 - ends[:, END:]), rtol=1e-9, atol=1e-15)
