"""Baselines against loops that write out what each says."""

import numpy as np
import pytest
import torch
from scipy.special import rel_entr, softmax

from probing.bridge.baselines import Shared, gold, same_index, simct, sorted_l1, strict, uld
from probing.bridge.bpm import Bridge
from probing.bridge.chunks import pair
from tests.firstorder import TokenLM, any_cut, greedy, inventory_of, vocabulary
from workbench.errors import SutureError
from workbench.tokenizer import Encoded


class Case:
    """Two samples of a token model, cut by a student, with random logits."""

    def __init__(self, seed):
        chance = np.random.default_rng(seed)
        model = TokenLM.random(chance, vocabulary(chance, int(chance.integers(4, 10))))
        self.pieces, self.student = model.pieces, vocabulary(chance, int(chance.integers(4, 10)))
        ids = [model.sample(chance, 6) for _ in range(2)]
        texts = [b"".join(model.pieces[token] for token in row) for row in ids]
        cut = [
            (greedy if seed % 2 else lambda *given: any_cut(chance, *given))(self.student, text)
            for text in texts
        ]
        bridge = Bridge(model.inventory, inventory_of(self.student), cache=False)
        self.pairing = pair(model.inventory, bridge.student, Encoded.of(ids), Encoded.of(cut))
        contexts = [context for row in ids for context in (-1, *row[:-1])]
        self.q = np.stack([model.q(context) for context in contexts])
        self.logits = chance.normal(0, 1.5, (len(self.pairing), len(self.student)))
        self.p = softmax(self.logits, axis=1)
        self.shared = Shared.of(bridge.twins)
        self.common = [u for u in self.student if u in self.pieces]

    @property
    def given(self):
        return torch.tensor(self.logits, requires_grad=True), torch.tensor(self.q), self.pairing

    def chunks(self):
        """Student and teacher token numbers of each chunk."""
        for chunk in range(len(self.pairing.sync) - 1):
            yield [np.flatnonzero(side == chunk) for side in (self.pairing.chunk, self.pairing.teacher_chunk)]

    def on_common(self, p_row, q_row):
        return (np.array([p_row[self.student.index(u)] for u in self.common]),
                np.array([q_row[self.pieces.index(u)] for u in self.common]))  # fmt: skip


def spread(one, two):
    """Sorted L1 written out."""
    width = max(len(one), len(two))
    both = [sorted([*each, *[0.0] * (width - len(each))], reverse=True) for each in (one, two)]
    return sum(abs(a - b) for a, b in zip(*both, strict=True))


def has_gradient(losses, logits):
    losses.sum().backward()
    assert logits.grad.isfinite().all()
    np.testing.assert_allclose(logits.grad.sum(-1), 0, atol=1e-12)
    return bool(logits.grad.abs().max() > 0)


@pytest.mark.parametrize("seed", range(20))
def test_uld_is_sorted_l1_of_rows_of_the_same_place(seed):
    at = Case(seed)
    logits, teacher, pairing = at.given
    wanted = []
    for sample in range(2):
        rows = [np.flatnonzero(side.samples == sample) for side in (pairing.student, pairing.teacher)]
        wanted += [spread(at.p[i], at.q[j]) for i, j in zip(*rows, strict=False)]
    found = uld(logits, teacher, pairing)
    np.testing.assert_allclose(found.detach(), wanted, atol=1e-12)
    assert len(same_index(pairing)[0]) == len(wanted)
    assert has_gradient(found, logits)


def test_sorted_l1_knows_no_names():
    one = torch.tensor([[0.5, 0.3, 0.2]])
    assert sorted_l1(one, one[:, [2, 0, 1]]).item() == 0
    assert sorted_l1(one, torch.tensor([[1.0]])).item() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(20))
def test_strict_rows_are_one_to_one_and_renormalised_on_shared_entries(seed):
    at = Case(seed)
    logits, teacher, pairing = at.given
    wanted = []
    for mine, theirs in at.chunks():
        if len(mine) == len(theirs) == 1:
            p, q = at.on_common(at.p[mine[0]], at.q[theirs[0]])
            wanted.append(rel_entr(p / p.sum(), q / q.sum()).sum())
    found = strict(logits, teacher, pairing, at.shared)
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-8)
    has_gradient(found, logits)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("beta", "weight"), [(0.5, None), (0.2, 0.75)])
def test_gold_merges_a_chunk_by_its_first_row(seed, beta, weight):
    at = Case(seed)
    logits, teacher, pairing = at.given
    wanted = []
    for mine, theirs in at.chunks():
        p = at.p[mine[0]] * np.prod([at.p[i, pairing.student.ids[i]] for i in mine[1:]])
        q = at.q[theirs[0]] * np.prod([max(at.q[j, pairing.teacher.ids[j]], 1e-8) for j in theirs[1:]])
        by, on = at.on_common(p, q)
        mixed = beta * on + (1 - beta) * by
        parts = (on * np.log(np.where(on > 0, on, 1) / mixed)).sum(), (by * np.log(by / mixed)).sum()
        rest = ([x for x, u in zip(p, at.student, strict=True) if u not in at.common],
                [x for x, t in zip(q, at.pieces, strict=True) if t not in at.common])  # fmt: skip
        share = len(at.common) / len(at.student) if weight is None else weight
        wanted.append(share * (beta * parts[0] + (1 - beta) * parts[1]) + (1 - share) * spread(*rest))
    found = gold(logits, teacher, pairing, at.shared, beta=beta, weight=weight)
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-8, atol=1e-12)
    assert has_gradient(found, logits)


@pytest.mark.parametrize("seed", range(40))
def test_simct_cells_are_a_partition_of_what_may_come(seed):
    at = Case(seed)
    logits, teacher, pairing = at.given
    wanted = []
    for mine, theirs in at.chunks():
        if max(len(mine), len(theirs)) > 4:
            continue
        names = {u: place for place, u in enumerate(at.common)}
        sides = []
        spelled = pairing.data[pairing.student.starts[mine[0]] : pairing.student.ends[mine[-1]]]
        single = len(mine) == 1 or len(theirs) == 1
        home = names[spelled] if spelled in names and single else len(names)
        rows = at.on_common(at.p[mine[0]], at.q[theirs[0]])
        for row, values, side, tokens, pieces in (
            (rows[0], at.p, pairing.student, mine, at.student),
            (rows[1], at.q, pairing.teacher, theirs, at.pieces),
        ):
            cells = np.array([*row, 0.0, 1 - row.sum()])
            path = np.prod([values[i, side.ids[i]] for i in tokens])
            cells[names.get(pieces[side.ids[tokens[0]]], len(names) + 1)] -= path
            cells[home] += path
            assert cells.min() > -1e-12
            assert cells.sum() == pytest.approx(1)
            sides.append(np.maximum(cells, 0))
        mixed = (sides[0] + sides[1]) / 2
        wanted.append(sum(rel_entr(side, mixed).sum() for side in sides) / 2)
    found = simct(logits, teacher, pairing, at.shared)
    assert len(found) == len(wanted)
    np.testing.assert_allclose(found.detach(), wanted, atol=1e-12)
    has_gradient(found, logits)


def test_one_vocabulary_makes_a_student_of_its_teacher_lossless():
    chance = np.random.default_rng(5)
    model = TokenLM.random(chance, vocabulary(chance, 7))
    ids = model.sample(chance, 8)
    pairing = pair(model.inventory, model.inventory, Encoded.of([ids]), Encoded.of([ids]))
    shared = Shared.of(Bridge(model.inventory, model.inventory, cache=False).twins)
    q = torch.tensor(np.stack([model.q(context) for context in (-1, *ids[:-1])]))
    for loss in (
        uld(q.log(), q, pairing),
        *(each(q.log(), q, pairing, shared) for each in (gold, strict, simct)),
    ):
        assert len(loss) == 8
        assert loss.abs().max() < 1e-6


def test_shared_entries_sum_the_teachers_duplicates():
    shared = Shared.of(np.array([2, -1, 2, 0]))
    assert shared.student.tolist() == [0, 2]
    assert shared.of_teacher(torch.tensor([[0.1, 0.2, 0.3, 0.4]])).tolist() == [pytest.approx([0.4, 0.4])]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda z, q: (z[1:], q), "one row a token"),
        (lambda z, q: (z, q[1:]), "one row a token"),
        (lambda z, q: (z * torch.nan, q), "got NaN or less"),
        (lambda z, q: (z, -q), "got NaN or less"),
    ],
)
def test_bad_rows_are_refused(change, message):
    at = Case(1)
    logits, teacher, pairing = at.given
    for loss in (gold, strict, simct):
        with pytest.raises(SutureError, match=message):
            loss(*change(logits, teacher), pairing, at.shared)
    with pytest.raises(SutureError, match=message):
        uld(*change(logits, teacher), pairing)


@pytest.mark.parametrize("options", [{"beta": 0.0}, {"beta": 1.0}, {"weight": 1.5}])
def test_gold_wants_shares(options):
    at = Case(1)
    with pytest.raises(SutureError, match="give shares"):
        gold(*at.given, at.shared, **options)
