"""An audit is a plain function with this decorator.

Its positional parameters are what it needs, found by their names; its keyword-only parameters are its
options, with their defaults:

    @audit("Longest entries")
    def longest(inventory: Inventory, *, top: int = 20) -> Outcome: ...

``inventory``, ``tokenizer`` or ``segmenter`` makes it run once a tokenizer; ``tokenizers`` or ``segmenters``
once for all of them; ``corpus`` and ``lexicon`` give it the run's corpus and morph lexicon. An audit that
asks for segmenters also gets those that have no inventory. One that asks for none of these runs once.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench import findings as finding_table
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from workbench.findings import Finding

NEEDS = ("inventory", "tokenizer", "tokenizers", "segmenter", "segmenters", "corpus", "lexicon")
EACH = frozenset({"inventory", "tokenizer", "segmenter"})
"""Needs of which there is one a tokenizer."""
WITH_INVENTORY = frozenset({"inventory", "tokenizer"})


@dataclass(frozen=True)
class Outcome:
    """What an audit gives back.

    Attributes:
        findings: findings, or a table of them in the findings schema.
        tables: larger tables by name, written beside the findings.
    """

    findings: list[Finding] | pl.DataFrame = field(default_factory=list)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def table(self) -> pl.DataFrame:
        """The findings as one checked table."""
        if isinstance(self.findings, list):
            return finding_table.frame(self.findings)
        return finding_table.checked(self.findings)


@dataclass(frozen=True)
class Audit:
    """A described audit; call it like the function it wraps."""

    function: Callable[..., Outcome]
    title: str
    version: int
    needs: tuple[str, ...]
    options: Mapping[str, Any]
    on_request: bool = False
    sensitive: bool = False
    inputs: Callable[[Mapping[str, Any]], Any] | None = None
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """First line of the documentation."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def once(self) -> bool:
        """Whether it runs once, for all tokenizers together or for none."""
        return EACH.isdisjoint(self.needs)

    def __call__(self, *args: Any, **options: Any) -> Outcome:
        """Runs the function itself."""
        return self.function(*args, **options)

    def configured(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options with their defaults filled in.

        Raises:
            SutureError: an option is unknown or of another type than its default.
        """
        for key, value in given.items():
            if key not in self.options:
                known = ", ".join(self.options) or "none"
                raise SutureError(f"an option of {self.name} must be one of: {known}; got {key!r}; rename it")
            default = self.options[key]
            if default is not None and not _fits(value, default):
                raise SutureError(
                    f"option {key} of {self.name} must be {type(default).__name__}; got {value!r}; correct it"
                )
            if key == "seed" and value < 0:
                raise SutureError(f"option seed of {self.name} must be 0 or more; got {value}; correct it")
        return {**self.options, **given}


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, (int, float))
    return isinstance(value, type(default)) or (isinstance(default, tuple) and isinstance(value, list))


def audit(
    title: str,
    version: int = 1,
    *,
    on_request: bool = False,
    sensitive: bool = False,
    inputs: Callable[[Mapping[str, Any]], Any] | None = None,
    labels: tuple[str, ...] = (),
) -> Callable[[Callable[..., Outcome]], Audit]:
    """Makes a function an audit.

    Args:
        title: heading of its section in the report.
        version: raised when its figures change, so that a resumed run does not mix the two.
        on_request: run it only where it is named, because it takes minutes or needs what few have.
        sensitive: its tokens and evidence may hurt or name a person; a report masks them until asked.
        inputs: of its options, what else determines its figures, ready for JSON, such as digests of installed
            data; files and folders that options name are taken account of without it.
        labels: of a sensitive audit, columns of its tables that name groups of rows and are not masked.

    Raises:
        SutureError: a positional parameter is none of ``NEEDS``.
    """

    def wrap(function: Callable[..., Outcome]) -> Audit:
        needs, options = [], {}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                options[name] = parameter.default
            elif name in NEEDS:
                needs.append(name)
            else:
                raise SutureError(
                    f"a positional parameter of an audit must be one of {', '.join(NEEDS)}; "
                    f"{function.__name__} has {name!r}; make it keyword-only if it is an option"
                )
        return Audit(function, title, version, tuple(needs), options, on_request, sensitive, inputs, labels)

    return wrap
