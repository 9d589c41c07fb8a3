"""Masses as tensors, against the NumPy ones, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from probing.bridge.mass import Masses, log_add, log_sum, logged, segment_sums
from tests.firstorder import inventory_of, vocabulary
from workbench import prefixmass
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.prefixes import Prefixes

SEEDS = range(6)


def case(seed: int) -> tuple[Prefixes, torch.Tensor]:
    """A random vocabulary with doubles and byte-less ids, and distributions with zeros and tails."""
    chance = np.random.default_rng(seed)
    pieces = vocabulary(chance, 10)
    index = Prefixes.of(inventory_of([*pieces, pieces[0], b"", pieces[3], b""]))
    q = chance.dirichlet(np.full(index.width, 0.3), 4)
    q[1, ::2] = 0
    q[2] *= 10.0 ** -chance.integers(0, 60, index.width)
    return index, torch.from_numpy(q / q.sum(1, keepdims=True))


def agree(found: torch.Tensor, expected: np.ndarray, *, log: bool = False) -> None:
    np.testing.assert_allclose(found.numpy(), expected, rtol=0 if log else 1e-13, atol=1e-12 if log else 0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("log", [False, True])
def test_tensors_say_what_arrays_say(seed, log):
    index, q = case(seed)
    masses = Masses(index)
    given = q.log() if log else q
    nodes = prefixmass.node_masses(given, index, log=log, tails=True)
    agree(masses.node_masses(given, log=log), nodes, log=log)
    for prefix in (b"", b"a", b"ab", b"abc", b"ca", b"bbbbb", b"d"):
        expected = prefixmass.prefix_mass(given, index, prefix, log=log)
        agree(masses.prefix_mass(given, prefix, log=log), expected, log=log)
        expected = prefixmass.exact_mass(given, index, prefix, log=log)
        agree(masses.exact_mass(given, prefix, log=log), expected, log=log)
        with np.errstate(invalid="ignore"):
            expected = prefixmass.next_byte(given, index, prefix, log=log)
        agree(masses.next_byte(given, prefix, log=log), expected, log=log)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_are_those_of_finite_differences(seed):
    index, q = case(seed)
    masses = Masses(index)
    for log in (False, True):
        rows = (q + 0.01).log() if log else q + 0.01
        rows = rows.clone().requires_grad_()
        for of in (masses.node_masses, masses.next_byte):
            assert torch.autograd.gradcheck(
                lambda x, of=of, log=log: of(x, log=log)[:, :20].clamp_min(-1e3), rows
            )


def test_gradients_pass_masked_ids_without_nan():
    index, q = case(1)
    masses = Masses(index)
    logits = q.log()
    logits[1, ::2] = -torch.inf
    logits = logits.requires_grad_()
    for found in (masses.node_masses(logits, log=True), masses.next_byte(logits, log=True)):
        finite = found.isfinite()
        (gradient,) = torch.autograd.grad(found[finite].sum(), logits)
        assert gradient.isfinite().all()
        assert (gradient[logits == -torch.inf] == 0).all()


def test_a_gradient_in_the_tail_is_not_drowned():
    """Of log Z under a rare prefix, elsewhere in the vocabulary the gradient is 0, and there a softmax."""
    index = Prefixes.of(inventory_of([b"a", b"ab", b"abc", b"b"]))
    q = torch.tensor([[0.5, 1e-30, 3e-30, 0.5]], dtype=torch.float64, requires_grad=True)
    mass = Masses(index).node_masses(q)[0, index.find(b"ab")]
    (gradient,) = torch.autograd.grad(mass.log(), q)
    np.testing.assert_allclose(gradient[0].numpy(), [0, 2.5e29, 2.5e29, 0], rtol=1e-14)


@pytest.mark.parametrize("log", [False, True])
def test_segments_may_be_empty(log):
    values = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    offsets = torch.tensor([0, 0, 2, 2, 3, 3])
    found = segment_sums(values.log() if log else values, offsets, log=log)
    agree(found.exp() if log else found, np.array([0, 3.0, 0, 4, 0]))


def test_sums_of_nothing_are_minus_infinity_with_a_gradient():
    none = torch.full((2, 3), -torch.inf, dtype=torch.float64, requires_grad=True)
    for found in (log_sum(none), log_add(none[:, 0], none[:, 1]), logged(none.exp().sum(1))):
        assert (found == -torch.inf).all()
        (gradient,) = torch.autograd.grad(
            found.masked_fill(found == -torch.inf, 0).sum(), none, retain_graph=True
        )
        assert (gradient == 0).all()
    assert log_sum(none[:, :0]).tolist() == [-np.inf] * 2
    one = torch.tensor([[-1e4, -np.inf]], dtype=torch.float64)
    assert log_add(one[:, 0], one[:, 1]).item() == -1e4


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_narrow_types_stay_what_they_are(kind):
    index, q = case(0)
    found = Masses(index).node_masses(q.to(kind))
    assert found.dtype == kind
    digits = {torch.float32: 1e-6, torch.bfloat16: 3e-2}[kind]
    np.testing.assert_allclose(found.double().numpy(), prefixmass.node_masses(q, index), rtol=0, atol=digits)


@pytest.mark.parametrize(
    ("change", "log", "message"),
    [
        (lambda q: q[:, :-1], False, "must be .positions, 14."),
        (lambda q: q[0], False, "must be .positions, 14."),
        (lambda q: (q > 0).long(), False, "of torch.int64"),
        (lambda q: q - 0.1, False, "numbers of at least 0"),
        (lambda q: q * 0, False, "numbers of at least 0, and not 0 alone"),
        (lambda q: q * torch.nan, False, "numbers of at least 0"),
        (lambda q: q * torch.nan, True, "row 0 is not so .4 of 4 rows."),
        (lambda q: q + torch.inf, True, "numbers or −inf"),
        (lambda q: q - torch.inf, True, "not −inf alone"),
    ],
)
def test_what_is_no_distribution_is_refused(change, log, message):
    index, q = case(1)
    for of in (Masses(index).node_masses, Masses(index).next_byte):
        with pytest.raises(SutureError, match=message):
            of(change(q), log=log)


def test_no_positions_and_an_index_of_a_root_alone():
    index, q = case(0)
    assert Masses(index).node_masses(q[:0]).shape == (0, len(index))
    assert Masses(index).next_byte(q[:0], log=True).shape == (0, prefixmass.COLUMNS)
    bare = Masses(Prefixes.of(inventory_of([b"", b""])))
    assert bare.node_masses(torch.tensor([[0.5, 0.5]])).tolist() == [[0.0]]
    assert bare.next_byte(torch.tensor([[0.5, 0.5]]))[0, prefixmass.SPELLESS] == 1


@pytest.mark.vocabs
def test_a_real_vocabulary(need):
    index = Prefixes.of(load(need("gpt2")).inventory)
    chance = np.random.default_rng(0)
    logits = torch.from_numpy(chance.normal(0, 5, (3, index.width)))
    masses = Masses(index)
    q = logits.softmax(1)
    np.testing.assert_allclose(
        masses.node_masses(q).numpy(), prefixmass.node_masses(q, index, tails=True), rtol=1e-12
    )
    logged_ = masses.node_masses(logits, log=True) - logits.logsumexp(1, keepdim=True)
    np.testing.assert_allclose(
        logged_.exp().numpy(), prefixmass.node_masses(q, index, tails=True), rtol=1e-12
    )
    np.testing.assert_allclose(masses.next_byte(q).numpy(), prefixmass.next_byte(q, index), rtol=1e-12)
