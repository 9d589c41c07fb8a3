"""Losses on targets with a residual: closed forms, gradients, and what is refused."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, rel_entr

from probing.bridge.losses import (
    cross_entropy,
    entropy,
    forward_kl,
    jensen_shannon,
    reverse_kl,
    token_mean,
)
from workbench.errors import SutureError

ROWS, TOKENS = 5, 7


def made(seed=0, residual=True, dense=False):
    """Logits, targets of which some cells are empty, and the residual."""
    chance = np.random.default_rng(seed)
    logits = chance.normal(0, 2, (ROWS, TOKENS))
    target = chance.dirichlet(np.ones(TOKENS), ROWS)
    if not dense:
        target[:, :3] = 0
    other = chance.uniform(0.05, 0.6, ROWS) if residual else np.zeros(ROWS)
    target *= ((1 - other) / target.sum(1))[:, None]
    return tuple(torch.tensor(each, dtype=torch.float64) for each in (logits, target, other))


def on_cells(logits, target, other):
    """Student and target as plain distributions: the support's cells, then the complement."""
    p = np.exp(log_softmax(logits.numpy(), axis=1))
    for row in range(len(p)):
        support = target[row].numpy() > 0
        yield np.append(p[row][support], p[row][~support].sum()), np.append(target[row][support], other[row])


@pytest.mark.parametrize("residual", [True, False])
def test_each_loss_is_its_closed_form_on_the_cells(residual):
    given = made(1, residual)
    pairs = list(on_cells(*given))
    forward = [rel_entr(q, p).sum() for p, q in pairs]
    np.testing.assert_allclose(forward_kl(*given), forward, rtol=1e-10)
    np.testing.assert_allclose(cross_entropy(*given) - entropy(*given[1:]), forward, rtol=1e-10)
    floored = [rel_entr(p, np.maximum(q, 1e-3)).sum() for p, q in pairs]
    np.testing.assert_allclose(reverse_kl(*given, floor=1e-3), floored, rtol=1e-10)
    skewed = [rel_entr(p, 0.9 * np.maximum(q, 1e-8) + 0.1 * p).sum() for p, q in pairs]
    np.testing.assert_allclose(reverse_kl(*given, skew=0.1), skewed, rtol=1e-10)
    for beta in (0.1, 0.5, 0.9):
        mixed = [(beta * q + (1 - beta) * p, p, q) for p, q in pairs]
        wanted = [beta * rel_entr(q, m).sum() + (1 - beta) * rel_entr(p, m).sum() for m, p, q in mixed]
        np.testing.assert_allclose(jensen_shannon(*given, beta), wanted, rtol=1e-9)


def test_the_ends_of_beta_are_the_two_directions():
    given = made(2)
    assert torch.equal(jensen_shannon(*given, 0.0), forward_kl(*given))
    assert torch.equal(jensen_shannon(*given, 1.0), reverse_kl(*given))


@pytest.mark.parametrize("residual", [True, False])
def test_the_gradient_is_p_minus_target_on_the_support_and_sums_to_nothing(residual):
    logits, target, other = made(3, residual)
    logits.requires_grad_()
    cross_entropy(logits, target, other).sum().backward()
    p = logits.detach().softmax(-1)
    support = target > 0
    torch.testing.assert_close(logits.grad[support], (p - target)[support])
    assert logits.grad.sum(-1).abs().max() < 1e-14
    if not residual:  # no complement term: outside the support the gradient is p itself
        torch.testing.assert_close(logits.grad[~support], p[~support])


LOSSES = {
    "cross": cross_entropy,
    "reverse": reverse_kl,
    "skew": lambda *given: reverse_kl(*given, skew=0.2),
    "jsd": jensen_shannon,
    "jsd.1": lambda *given: jensen_shannon(*given, 0.1),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("residual", [True, False])
def test_gradients_match_finite_differences_and_sum_to_nothing(loss, residual):
    logits, target, other = made(4, residual)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda each: loss(each, target, other), (logits,))
    loss(logits, target, other).sum().backward()
    assert logits.grad.sum(-1).abs().max() < 1e-12


def test_a_student_that_equals_the_target_has_no_loss():
    _, target, _ = made(5, residual=False, dense=True)
    logits, nothing = target.log(), torch.zeros(ROWS, dtype=torch.float64)
    for found in (
        forward_kl(logits, target, nothing),
        jensen_shannon(logits, target, nothing),
        reverse_kl(logits, target, nothing),
    ):
        assert found.abs().max() < 1e-12


def test_divergences_are_never_negative_and_half_is_bounded_by_ln_2():
    for seed in range(30):
        given = made(seed, residual=bool(seed % 2))
        assert forward_kl(*given).min() >= 0
        found = jensen_shannon(*given)
        assert found.min() >= 0
        assert found.max() <= np.log(2)


def test_a_support_of_everything_has_no_complement_and_no_nan():
    logits, target, other = made(6, residual=False, dense=True)
    logits.requires_grad_()
    for loss in LOSSES.values():
        (gradient,) = torch.autograd.grad(loss(logits, target, other).sum(), logits)
        assert gradient.isfinite().all()


def test_tokens_masked_outside_the_support_are_probability_nothing():
    logits, target, other = made(7)
    logits[:, 0] = -torch.inf
    logits.requires_grad_()
    without = (logits[:, 1:].detach(), target[:, 1:], other)
    for loss in LOSSES.values():
        found = loss(logits, target, other)
        torch.testing.assert_close(found.detach(), loss(*without))
        (gradient,) = torch.autograd.grad(found.sum(), logits)
        assert gradient.isfinite().all()
        assert (gradient[:, 0] == 0).all()


def test_a_far_complement_keeps_its_logarithm():
    logits = torch.tensor([[0.0, 200.0, 0.0]], dtype=torch.float32, requires_grad=True)
    target, other = torch.tensor([[0.0, 0.75, 0.0]]), torch.tensor([0.25])
    found = cross_entropy(logits, target, other)
    assert found.item() == pytest.approx(0.25 * (200 - np.log(2)), rel=1e-6)
    found.backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[-0.125, 0.25, -0.125]]))


def test_sixteen_bits_are_read_as_thirty_two():
    logits, target, other = made(8)
    half = logits.bfloat16()
    found = cross_entropy(half, target, other)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, cross_entropy(half.float(), target, other))


def test_a_mean_counts_each_kept_row_once():
    losses = torch.tensor([1.0, 2.0, 6.0])
    assert token_mean(losses).item() == 3
    assert token_mean(losses, torch.tensor([True, False, True])).item() == 3.5
    with pytest.raises(SutureError, match="none is kept"):
        token_mean(losses, torch.zeros(3, dtype=torch.bool))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda z, t, o: (z[:, :-1], t, o), r"got \(5, 6\), \(5, 7\) and \(5,\)"),
        (lambda z, t, o: (z, t, o[:-1]), r"and \(4,\); cut the logits"),
        (lambda z, t, o: (z.index_fill(1, torch.tensor([0]), torch.nan), t, o), "row 0 has NaN"),
        (lambda z, t, o: (z.index_fill(1, torch.tensor([6]), torch.inf), t, o), "row 0 has NaN or .inf"),
        (lambda z, t, o: (z.index_fill(1, torch.tensor([5]), -torch.inf), t, o), "row 0 has −inf"),
        (lambda z, t, o: (z, t * 0.9, o), "sum to 1 with its residual; row 0 sums to 0.9"),
        (lambda z, t, o: (z, t, o * torch.nan), "row 0 sums to nan"),
        (lambda z, t, o: (z[:, 3:], t[:, 3:], o), "outside the target's support"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, message):
    with pytest.raises(SutureError, match=message) as raised:
        cross_entropy(*change(*made(9)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("name", "value"), [("beta", 1.5), ("beta", -0.1), ("skew", 2.0)])
def test_shares_lie_between_nothing_and_one(name, value):
    with pytest.raises(SutureError, match=rf"{name} must lie in 0\.\.1; got {value}"):
        (jensen_shannon if name == "beta" else reverse_kl)(*made(), **{name: value})
