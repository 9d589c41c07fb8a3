"""What becomes of stops, byte-less and lost mass, masked rows, duplicates, and input that cannot be used."""

import numpy as np
import pytest
import torch

from probing.bridge.bpm import Bridge
from probing.bridge.chunks import pair
from probing.bridge.losses import cross_entropy, jensen_shannon, token_mean
from probing.bridge.rows import Rows
from tests.firstorder import inventory_of
from workbench.errors import SutureError
from workbench.inventory import Inventory
from workbench.tokenizer import Encoded

TEACHER = inventory_of(
    [b"a", b"b", b"ab", b"<end>", None, b" "], "big", ["piece"] * 3 + ["special", "gap", "piece"]
)
STUDENT = inventory_of([b"<|eos|>", b" ", b"a", b"b"], "small", ["special"] + ["piece"] * 3)
VALUES = torch.tensor([0.2, 0.1, 0.3, 0.25, 0.05, 0.1], dtype=torch.float64)


def bridge(**options):
    return Bridge(TEACHER, STUDENT, cache=False, **options)


def made(options, teacher=((2, 5),), student=((2, 3, 1),), values=VALUES, **more):
    """Targets of a text of "ab ", whose second student position stands inside a teacher token."""
    at = bridge(**options)
    pairing = pair(TEACHER, STUDENT, Encoded.of(map(list, teacher)), Encoded.of(map(list, student)))
    rows = Rows.from_probabilities(values.expand(len(pairing.teacher.ids), -1), 6)
    return at.targets(rows, pairing, **more)


def test_byteless_mass_is_apart_from_the_residual():
    found = made({})
    np.testing.assert_allclose(found.mass[0], [0, 0.1, 0.5, 0.1], atol=1e-15)
    assert found.byteless[0].item() == pytest.approx(0.3)
    assert found.residual[0].item() == 0
    # Inside "ab" only "ab" goes on, and "a" has ended: 0.3 and 0.2 of the half that begins with "a".
    np.testing.assert_allclose(found.mass[1], [0, 0, 0, 0.6], atol=1e-15)
    assert found.residual[1].item() == pytest.approx(0.4)
    assert found.byteless[1].item() == 0


@pytest.mark.parametrize(
    ("options", "end", "byteless"),
    [
        ({}, 0.0, 0.3),
        ({"stops": (3,), "end": 0}, 0.25, 0.05),
        ({"stops": (3,), "end": 0, "stop": "skip"}, 0.0, 0.3),
        ({"stops": (3,), "end": 0, "stop": "floor", "floor": 0.1}, 0.25, 0.05),
        ({"stops": (3,), "end": 0, "stop": "floor", "floor": 0.4}, 0.4, 0.05 * 0.8),
        ({"end": 0, "stop": "floor", "floor": 0.2}, 0.2, 0.3 * 0.8),
    ],
)
def test_stops_go_over_the_bridge_at_boundaries_alone(options, end, byteless):
    found = made(options)
    assert found.mass[0, 0].item() == pytest.approx(end)
    assert found.byteless[0].item() == pytest.approx(byteless)
    assert found.mass[1, 0].item() == 0
    np.testing.assert_allclose(found.cells.sum(1), 1, atol=1e-15)


def test_blank_rows_are_marked_and_left_out_of_a_mean():
    found, unmasked = made({}), made({}, mask=False)
    assert found.blank.tolist() == [False, False, True]
    assert found.keep.tolist() == [True, True, False]
    assert unmasked.keep.all()
    logits = torch.zeros(3, 4, dtype=torch.float64)
    losses = cross_entropy(logits, found.mass, found.other)
    assert token_mean(losses, found.keep).item() == pytest.approx(losses[:2].mean().item())


def test_a_corrected_floor_keeps_its_mass():
    student = inventory_of([b"<|eos|>", b" ", b"a", b"b", b"ab "], "small", ["special"] + ["piece"] * 4)
    at = Bridge(TEACHER, student, end=0, stop="floor", floor=0.2, cache=False)
    pairing = pair(TEACHER, student, Encoded.of([[2, 5]]), Encoded.of([[4]]))
    rows = Rows.from_probabilities(VALUES.expand(2, -1), 6)
    for mode in ("scatter", "bytewalk"):
        found = at.targets(rows, pairing, mode=mode)
        np.testing.assert_allclose(found.mass[0], [0.2, 0.08, 0.4 - 0.024, 0.08, 0.024], atol=1e-15)
        assert found.cells.sum().item() == pytest.approx(1, abs=1e-15)


def test_teacher_duplicates_are_summed_and_the_lowest_student_id_gets_all():
    teacher, student = inventory_of([b"a", b"b", b"a"]), inventory_of([b"b", b"a", b"a"])
    at = Bridge(teacher, student, cache=False)
    assert at.row(np.array([0.5, 0.2, 0.3])).tolist() == [0.2, 0.8, 0, 0, 0]
    assert at.twins.tolist() == [1, 0, 1]
    # The realised student token may be the other one; its position still has a target.
    pairing = pair(teacher, student, Encoded.of([[2, 1]]), Encoded.of([[2, 0]]))
    rows = Rows.from_probabilities(torch.tensor([[0.5, 0.2, 0.3]] * 2), 3)
    for mode in ("fast", "scatter", "bytewalk"):
        assert at.targets(rows, pairing, mode=mode).mass[0].tolist() == pytest.approx([0.2, 0.8, 0])


def test_duplicates_beyond_a_token_are_walked_once():
    teacher, student = inventory_of([b"a", b"b", b"b"]), inventory_of([b"ab", b"a", b"b", b"ab"])
    at = Bridge(teacher, student, cache=False)
    pairing = pair(teacher, student, Encoded.of([[0, 2]]), Encoded.of([[3]]))
    rows = Rows.from_probabilities(torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]), 3)
    for mode in ("scatter", "bytewalk"):  # the last token counts with every id of its bytes
        found = at.targets(rows, pairing, mode=mode)
        assert found.mass[0].tolist() == pytest.approx([0.375, 0.125, 0.5, 0])


def test_lost_mass_is_stated_and_no_cell_is_overstated():
    pairing = pair(TEACHER, STUDENT, Encoded.of([[2, 5]]), Encoded.of([[2, 3, 1]]))
    rows = Rows.top(torch.tensor([[2, 3], [2, 5]]), VALUES[torch.tensor([[2, 3], [2, 5]])], 6)
    found = bridge().targets(rows, pairing)
    full = made({})
    np.testing.assert_allclose(found.lost, [0.45, 0.45 / 0.75, 0.6], atol=1e-15)
    np.testing.assert_allclose(found.cells.sum(1) + found.lost, 1, atol=1e-15)
    assert (found.cells <= full.cells + found.lost.unsqueeze(1) + 1e-15).all()
    assert (found.mass[1] <= full.mass[1] + 1e-15).all()
    assert (found.bound >= found.lost).all()
    jensen_shannon(torch.zeros(3, 4, dtype=torch.float64), found.mass, found.other)


def test_a_condition_without_mass_is_marked_and_all_residual():
    values = torch.tensor([0.0, 0.5, 0.0, 0.25, 0.0, 0.25], dtype=torch.float64)
    found = made({}, values=values)
    assert found.defined.tolist() == [True, False, True]
    assert found.residual[1].item() == 1
    assert not found.keep[1]
    with pytest.raises(SutureError, match=r"pending bytes must begin a token .* b'a' begins none"):
        bridge().row(values.numpy(), b"a")


def test_minus_infinity_is_no_probability_and_no_error():
    logits = torch.tensor([[0.0, -torch.inf, 0.0, -torch.inf, -torch.inf, -torch.inf]])
    assert Rows.from_logits(logits, 6).values.tolist() == [[0.5, 0, 0.5, 0, 0, 0]]


LOGITS = torch.zeros(2, 6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Rows.from_logits(LOGITS, 5), r"logits must be \(rows, 5\).* got \(2, 6\)"),
        (lambda: Rows.from_logits(LOGITS.index_fill(0, torch.tensor(1), torch.nan), 6), "row 1 is not so"),
        (lambda: Rows.from_logits(LOGITS.index_fill(1, torch.tensor(2), torch.nan), 6), "row 0 is not so"),
        (lambda: Rows.from_logits(LOGITS.index_fill(1, torch.tensor(2), torch.inf), 6), "row 0 is not so"),
        (lambda: Rows.from_logits(LOGITS - torch.inf, 6), "a mask over everything"),
        (lambda: Rows.from_probabilities(LOGITS, 6), "row 0 sums to 0; give softmax"),
        (lambda: Rows.from_probabilities(LOGITS + 1, 6), "row 0 sums to 6"),
        (lambda: Rows.from_probabilities(LOGITS * torch.nan, 6), "row 0 sums to nan"),
        (lambda: Rows.top(torch.tensor([[1, 1]]), torch.tensor([[0.5, 0.2]]), 6), "must differ"),
        (lambda: Rows.top(torch.tensor([[1, 6]]), torch.tensor([[0.5, 0.2]]), 6), r"0\.\.5; got 1 to 6"),
        (lambda: Rows.top(torch.tensor([[1, 2]]), torch.tensor([[0.5]]), 6), r"one shape \(rows, k\)"),
        (lambda: Rows.top(torch.tensor([[1, 2]]), torch.tensor([[0.7, 0.7]]), 6), "at most 1"),
        (lambda: bridge(stops=(3,)), "end is None"),
        (lambda: bridge(stops=(9,), end=0), r"stops must be ids in 0\.\.5, of big; got \(9,\)"),
        (lambda: bridge(end=4), r"end must be ids in 0\.\.3, of small; got \(4,\)"),
        (lambda: bridge(stop="no"), "stop must be one of bridge, floor, skip; got 'no'"),
        (lambda: made({}, mode="slow"), "mode must be one of fast, scatter, bytewalk; got 'slow'"),
        (lambda: made({}, reach="all"), "reach must be one of spanning, text; got 'all'"),
        (lambda: bridge().row(np.ones(5)), r"6 probabilities; got shape \(5,\)"),
        (lambda: bridge().row(np.full(6, np.nan)), "with least nan"),
        (lambda: bridge().boundary(Rows.from_logits(torch.zeros(1, 5), 5)), "must be 6 wide"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(build, message):
    with pytest.raises(SutureError, match=message) as raised:
        build()
    assert "\n" not in str(raised.value)


def test_rows_of_another_text_are_refused():
    pairing = pair(TEACHER, STUDENT, Encoded.of([[2, 5]]), Encoded.of([[2, 3, 1]]))
    with pytest.raises(SutureError, match="one teacher row a teacher token, 2; got 3"):
        bridge().targets(Rows.from_probabilities(VALUES.expand(3, -1), 6), pairing)


def test_rows_of_another_width_are_refused():
    pairing = pair(TEACHER, STUDENT, Encoded.of([[2, 5]]), Encoded.of([[2, 3, 1]]))
    with pytest.raises(SutureError, match="must be 6 wide"):
        bridge().targets(Rows.from_logits(torch.zeros(2, 7), 7), pairing)


def test_entries_that_do_not_spell_the_text_are_refused():
    marked = Inventory.build("pieces", "test", {"id": [0], "bytes": [b"a"], "position": ["inner"]})
    with pytest.raises(SutureError, match="pieces must spell the text"):
        Bridge(TEACHER, marked, cache=False).row(VALUES.numpy())


def test_no_position_gives_no_row():
    found = bridge().targets(
        Rows.from_probabilities(torch.zeros(0, 6), 6), pair(TEACHER, STUDENT, Encoded.of([]), Encoded.of([]))
    )
    assert found.cells.shape == (0, 6)
