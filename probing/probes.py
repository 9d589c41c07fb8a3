"""Linear probes of one layer: what can be read from states, and what a probe merely remembers.

A probe is trained on some groups (sentences, or word types) and tested on others. Its control task has the
same words with a label drawn for each word type (Hewitt & Liang 2019): what it reaches there, it remembers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from probing.directions import check, check_labels, finite, moments, scale
from probing.significance import Share
from workbench.errors import MissingExtra, SutureError
from workbench.resampling import ratios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from probing.directions import Bools, Floats, Ints, States

    Labels = NDArray[Any]

Kind = Literal["ridge", "logistic"]
"""Least squares on one-hot classes in closed form; or scikit-learn's multinomial logistic regression."""

DRAWS = 1_000
"""Resamples of the bootstrap by default."""

TURNS = 1_000
"""Iterations of a logistic regression at most."""


class Split(NamedTuple):
    """Rows to train on and rows to test on; no group is in both."""

    train: Ints
    test: Ints


class Probed(NamedTuple):
    """What a probe reaches on rows that it was not trained on.

    Attributes:
        kind: of the probe.
        accuracy: share of test rows with the right class.
        control: the same on the control task; undefined if no test row has a type seen in training, where a
            control label can only be guessed.
        selectivity: accuracy less control.
        seen: accuracy on test rows of word types seen in training.
        unseen: accuracy on the others.
        control_seen: control accuracy on rows of seen types.
        majority: accuracy of the commonest class.
        type_majority: of the commonest class of the word type, or of all for types not seen.
        seen_share: share of test rows of types seen in training.
        classes: distinct labels.
        train: rows trained on.
        test: rows tested on.
        undefined: rows left out, since they are not finite.
        converged: whether the logistic regressions ended before ``TURNS``; a ridge always does.
    """

    kind: Kind
    accuracy: Share
    control: Share
    selectivity: Share
    seen: Share
    unseen: Share
    control_seen: Share
    majority: float
    type_majority: float
    seen_share: float
    classes: int
    train: int
    test: int
    undefined: int
    converged: bool


def probe(
    states: States,
    labels: Labels,
    types: Labels,
    groups: Labels,
    *,
    kind: Kind = "ridge",
    penalty: float = 1.0,
    share: float = 0.25,
    draws: int = DRAWS,
    seed: int = 0,
) -> Probed:
    """Trains and tests a probe and its control on one split.

    Args:
        states: (units, width); standardised by the moments of the training rows.
        labels: class of each unit.
        types: word type of each unit, for the control task.
        groups: of which none is trained and tested on: the sentence, or the type or lemma itself.
        kind: of the probe.
        penalty: on squared weights: alpha of the ridge, 1/C of the logistic regression.
        share: of the groups to test on.
        draws: of the bootstrap over test groups.
        seed: of split, control labels and bootstrap.

    Raises:
        SutureError: there are no two classes in training, or no two groups.
    """
    check(states)
    check_labels(states, labels, types, groups)
    if kind not in get_args(Kind):
        raise SutureError(f"a probe is one of {', '.join(get_args(Kind))}; got {kind!r}")
    use = finite(states)
    names, label = np.unique(labels[use], return_inverse=True)
    _, kind_of_word = np.unique(types[use], return_inverse=True)
    _, group = np.unique(groups[use], return_inverse=True)
    rows = states[use]
    parts = split(group, share=share, seed=seed)
    if len(np.unique(label[parts.train])) < 2:
        raise SutureError(
            f"a probe needs two classes to train on; got {len(names)} among {len(label)} labels; give others"
        )
    control = control_labels(kind_of_word, label, seed=seed)
    found, converged = predictions(
        rows[parts.train], [label[parts.train], control[parts.train]], rows[parts.test], kind, penalty
    )
    seen = np.isin(kind_of_word[parts.test], kind_of_word[parts.train])
    right = found[0] == label[parts.test]
    kept = found[1] == control[parts.test]
    shares = _shares(right, kept, seen, group[parts.test], draws, seed)
    return Probed(
        kind,
        *shares,
        float((label[parts.test] == _commonest(label[parts.train])).mean()),
        float((_by_type(kind_of_word, label, parts) == label[parts.test]).mean()),
        float(seen.mean()),
        len(names),
        len(parts.train),
        len(parts.test),
        int((~use).sum()),
        converged,
    )


def split(groups: Labels, *, share: float = 0.25, seed: int = 0) -> Split:
    """Rows to train and to test on, by whole groups (scikit-learn's GroupShuffleSplit).

    Args:
        groups: of each row.
        share: of the groups to test on.
        seed: of the draw.

    Raises:
        SutureError: there are no two groups.
        MissingExtra: scikit-learn is not installed.
    """
    if len(np.unique(groups)) < 2:
        raise SutureError("a split needs two groups, one to train on and one to test on; give more units")
    try:
        from sklearn.model_selection import GroupShuffleSplit
    except ImportError as error:
        raise _missing(error) from None
    drawn = GroupShuffleSplit(1, test_size=share, random_state=seed)
    train, test = next(drawn.split(np.zeros(len(groups)), groups=groups))
    return Split(train, test)


def control_labels(types: Labels, labels: Labels, *, seed: int = 0) -> Labels:
    """A label for each word type, drawn from the labels as often as they occur (Hewitt & Liang 2019).

    Args:
        types: word type of each row.
        labels: of each row.
        seed: of the draw.

    Returns:
        The type's label at each row: the same in training and test.
    """
    _, which = np.unique(types, return_inverse=True)
    drawn = np.random.default_rng(seed).choice(labels, int(which.max(initial=-1)) + 1)
    return drawn[which]


def predictions(
    train: States, targets: Sequence[Ints], test: States, kind: Kind, penalty: float = 1.0
) -> tuple[list[Ints], bool]:
    """Classes of test rows under a probe for each task.

    Args:
        train: rows to train on.
        targets: classes from 0 of each task, at those rows.
        test: rows to tell the class of.
        kind: of the probe.
        penalty: on squared weights.

    Returns:
        Classes of each task, and whether every fit converged.
    """
    one, two = standardised(train, test)
    if kind == "ridge":
        return _ridge(one, targets, two, penalty), True
    fits = [logistic(one, target, penalty) for target in targets]
    converged = all(int(np.max(fit.n_iter_)) < TURNS for fit in fits if fit is not None)
    return [
        fit.predict(two) if fit is not None else np.full(len(two), _commonest(target))
        for fit, target in zip(fits, targets, strict=True)
    ], converged


def standardised(train: States, test: States) -> tuple[Floats, Floats]:
    """Both parts in 64 bits, less the mean and over the deviation of the training rows."""
    about = moments(train)
    by = scale(about.deviation)
    return (np.asarray(train, np.float64) - about.mean) / by, (np.asarray(test, np.float64) - about.mean) / by


def logistic(rows: Floats, target: Ints, penalty: float = 1.0) -> Any | None:
    """scikit-learn's logistic regression, fitted; None where there is one class alone.

    Args:
        rows: standardised.
        target: class of each.
        penalty: 1/C.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise _missing(error) from None
    import warnings

    if (target == target[0]).all():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told by ``converged``
        return LogisticRegression(C=1 / penalty, max_iter=TURNS).fit(rows, target)


def _ridge(train: Floats, targets: Sequence[Ints], test: Floats, penalty: float) -> list[Ints]:
    """(X'X + λI)⁻¹ X'Y for all tasks by one Cholesky factor, of whichever of X'X and XX' is the smaller."""
    from scipy.linalg import cho_factor, cho_solve

    sizes = [int(target.max()) + 1 for target in targets]
    hot = np.concatenate([np.eye(size)[target] for size, target in zip(sizes, targets, strict=True)], axis=1)
    middle = hot.mean(0)
    wide = train.shape[1] > len(train)
    gram = train @ train.T if wide else train.T @ train
    gram[np.diag_indices_from(gram)] += penalty
    factor = cho_factor(gram, overwrite_a=True, check_finite=False)
    if wide:
        weights = train.T @ cho_solve(factor, hot - middle)
    else:
        weights = cho_solve(factor, train.T @ (hot - middle))
    scores = test @ weights + middle
    return [part.argmax(1) for part in np.split(scores, np.cumsum(sizes)[:-1], axis=1)]


def _shares(
    right: Bools, kept: Bools, seen: Bools, group: Ints, draws: int, seed: int
) -> tuple[Share, Share, Share, Share, Share, Share]:
    """Accuracy, control, selectivity, seen, unseen and control on seen, with intervals over groups."""
    every, some = np.ones(len(right)), np.full(len(right), float(seen.any()))
    above = [right, kept, right.astype(float) - kept, right & seen, right & ~seen, kept & seen]
    below = [every, some, some, seen, ~seen, seen]
    _, which = np.unique(group, return_inverse=True)
    sums = [
        np.stack([np.bincount(which, each).astype(np.float64) for each in side], axis=1)
        for side in (above, below)
    ]
    found = ratios(sums[0], sums[1], draws, seed)
    one, two, three, four, five, six = map(Share.of, *found)
    return one, two, three, four, five, six


def _commonest(labels: Ints) -> int:
    return int(np.bincount(labels).argmax())


def _by_type(types: Ints, labels: Ints, parts: Split) -> Ints:
    """The commonest class of each test row's type in training; of all where the type is new."""
    width = int(labels.max()) + 1
    counts = np.bincount(
        types[parts.train] * width + labels[parts.train], minlength=(int(types.max()) + 1) * width
    )
    table = counts.reshape(-1, width)[types[parts.test]]
    return np.where(table.any(axis=1), table.argmax(axis=1), _commonest(labels[parts.train]))


def _missing(error: ImportError) -> MissingExtra:
    return MissingExtra(
        f"scikit-learn must be installed for probes; it is not ({error}); run pip install 'suture[probing]'"
    )
