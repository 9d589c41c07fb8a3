"""Registries by entry points: what is installed is what exists, ours and plugins' alike."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any

from workbench.errors import SutureError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Registry:
    """The entry points of one group, listed without importing them.

    Attributes:
        group: entry-point group, such as ``suture.audits``.
        noun: what one member is called in messages.
    """

    group: str
    noun: str

    @cached_property
    def _points(self) -> dict[str, metadata.EntryPoint]:
        found: dict[str, metadata.EntryPoint] = {}
        for point in metadata.entry_points(group=self.group):
            earlier = found.get(point.name)
            if earlier is not None and earlier.value != point.value:
                raise SutureError(
                    f"each {self.noun} must have a name of its own; {point.name!r} comes from "
                    f"{_origin(earlier)} and {_origin(point)}; uninstall one of them"
                )
            found[point.name] = point
        return found

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._points)

    def origin(self, name: str) -> str:
        """The distribution that declares a name."""
        return _origin(self._points[name])

    def get(self, name: str) -> Callable[..., Any]:
        """Imports one member.

        Raises:
            UnknownName: no such name; the message lists the known ones and the nearest.
            SutureError: its module fails to import.
        """
        point = self._points.get(name)
        if point is None:
            near = difflib.get_close_matches(name, self.names(), 1)
            hint = f"did you mean {near[0]!r}?" if near else "pick one of these"
            raise UnknownName(
                f"the {self.noun} must be one of {', '.join(self.names())}; got {name!r}; {hint}"
            )
        try:
            member: Callable[..., Any] = point.load()
        except Exception as error:
            raise SutureError(
                f"the {self.noun} {name!r} must import; {_origin(point)} fails to ({error}); "
                "reinstall or remove that distribution"
            ) from error
        return member

    def load_all(self) -> dict[str, Callable[..., Any]]:
        """Imports every member; one that fails is left out with a warning that names it."""
        found = {}
        for name in self.names():
            try:
                found[name] = self.get(name)
            except SutureError as error:
                warnings.warn(str(error), stacklevel=2)
        return found


def _origin(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
