"""Rows of a checkpoint that have no direction, and matrices that a config misnames."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from workbench.weights import open_weights

E = np.arange(12, dtype=np.float32).reshape(6, 2)


@pytest.mark.parametrize(
    ("head", "flag", "tied", "mismatch"),
    [
        (None, None, True, None),
        (None, True, True, None),
        (None, False, True, "lacks the model's head"),
        (E, None, True, None),
        (E, False, True, "bit for bit"),
        (E + 1, None, False, None),
        (E + 1, False, False, None),
        (E + 1, True, False, "the output matrix is another"),
    ],
)
def test_weights_decide_whether_they_are_tied(tmp_path, head, flag, tied, mismatch):
    tensors = {"model.embed_tokens.weight": E} | ({} if head is None else {"lm_head.weight": head})
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({} if flag is None else {"tie_word_embeddings": flag}))
    weights = open_weights(tmp_path)
    assert weights.tied is tied
    if mismatch is None:
        assert weights.tie.mismatch is None
    else:
        assert mismatch in str(weights.tie.mismatch)


def test_a_negative_zero_is_another_bit(tmp_path):
    other = E.copy()
    other[0, 0] = -0.0
    save_file({"wte.weight": E, "lm_head.weight": other}, tmp_path / "model.safetensors")
    assert not open_weights(tmp_path).tied
