"""Small models: padding, determinism, kept states."""

import math
from itertools import chain

import pytest
import torch
from safetensors.torch import load_file, save_file

from probing.tiny import (
    PADDING,
    Schedule,
    Shape,
    Trainer,
    batch,
    build,
    cross_entropy,
    log_probabilities,
    parameters,
    shuffled,
    train,
)
from workbench.errors import SutureError

SHAPE = Shape(vocabulary=11, width=16, layers=2, heads=2, context=16)
ROWS = [[1, 2, 3, 1, 2, 3], [4, 4], [10, 9, 8, 7, 6]]


def losses(model, rows):
    documents = batch(rows, SHAPE)
    return cross_entropy(log_probabilities(model, SHAPE, documents), documents)


def test_the_same_seed_gives_the_same_model_and_leaves_the_generator_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two, other = build(SHAPE, 1), build(SHAPE, 1), build(SHAPE, 2)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(losses(one, ROWS), losses(two, ROWS))
    assert not torch.equal(losses(one, ROWS), losses(other, ROWS))


def test_probabilities_sum_to_one_over_the_vocabulary_without_the_start():
    documents = batch(ROWS, SHAPE)
    scores = log_probabilities(build(SHAPE), SHAPE, documents)
    assert scores.shape == (3, 6, 11)
    assert torch.allclose(scores.exp().sum(-1), torch.ones(3, 6), atol=1e-6)


def test_padding_changes_nothing():
    model = build(SHAPE).eval()
    together = losses(model, ROWS)
    alone = torch.cat([losses(model, [row]) for row in ROWS])
    assert torch.allclose(together, alone, atol=1e-5)
    assert len(together) == sum(map(len, ROWS))
    assert (batch(ROWS, SHAPE).targets == PADDING).sum() == 18 - 13


def test_a_later_token_changes_no_earlier_prediction():
    model = build(SHAPE).eval()
    one, two = losses(model, [[1, 2, 3, 4]]), losses(model, [[1, 2, 3, 9]])
    assert torch.equal(one[:3], two[:3])


def trained(steps, state=None, schedule=None):
    trainer = Trainer(build(SHAPE, 3), schedule or Schedule(steps=20, rate=1e-2))
    batches = shuffled(len(ROWS), 2, 7)
    if state:
        trainer.restore(state)
        for _ in range(trainer.step):
            next(batches)
    seen = []
    train(
        trainer, batches, lambda rows: losses(trainer.model, [ROWS[row] for row in rows]).mean(), steps,
        lambda _, loss: seen.append(loss),
    )  # fmt: skip
    return trainer, seen


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path):
    whole, losses_whole = trained(20)
    half, _ = trained(9)
    save_file(half.state(), tmp_path / "state.safetensors")
    rest, losses_rest = trained(20, load_file(tmp_path / "state.safetensors"))
    assert losses_rest == losses_whole[9:]
    for one, two in zip(whole.model.parameters(), rest.model.parameters(), strict=True):
        assert torch.equal(one, two)
    assert losses_whole[-1] < 0.8 * losses_whole[0]


def test_a_state_of_another_shape_is_refused():
    state = Trainer(build(SHAPE), Schedule()).state()
    wider = build(Shape(vocabulary=11, width=32, layers=2, heads=2, context=16))
    with pytest.raises(SutureError, match="of a model of this shape"):
        Trainer(wider, Schedule()).restore(state)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_the_training(value):
    model = build(SHAPE)
    with pytest.raises(SutureError, match="a loss must be finite"):
        Trainer(model, Schedule()).advance(next(model.parameters()).sum() * value)


@pytest.mark.parametrize("rows", [[[]], [[1] * 17], [[11]], [[-2]], []])
def test_documents_that_do_not_fit_are_refused(rows):
    with pytest.raises(SutureError, match="must"):
        batch(rows, SHAPE)


def test_the_rate_rises_and_falls_to_a_tenth():
    schedule = Schedule(steps=100, rate=1.0, warm=0.1)
    rates = [schedule.at(step) for step in range(100)]
    assert rates[:10] == pytest.approx([0.1 * n for n in range(1, 11)])
    assert sorted(rates[10:], reverse=True) == rates[10:]
    assert rates[-1] == pytest.approx(0.1, abs=1e-3)


def test_every_document_comes_once_an_epoch():
    batches = shuffled(7, 3, 0)
    epoch = [next(batches) for _ in range(3)]
    assert sorted(chain.from_iterable(epoch)) == list(range(7))
    assert [len(each) for each in epoch] == [3, 3, 1]


def test_a_tied_matrix_is_counted_once():
    model = build(SHAPE)
    assert parameters(model) == sum(value.numel() for _, value in model.named_parameters())
    assert parameters(model) < 12 * 16 * 2 + 2 * (16 * 16 * 4 + 3 * 16 * 64 + 32) + 17
