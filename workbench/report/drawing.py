"""What a report draws for each audit: functions declared under ``suture.drawings`` by the audit's name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from workbench.registry import Registry
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from workbench.report.looks import Look


@cache
def _drawings() -> Registry:
    return Registry("suture.drawings", "drawing")


def draw(audit: str, look: Look) -> Drawn:
    """What is drawn for an audit; one that declares nothing is shown by its figures alone."""
    registry = _drawings()
    if audit not in registry.names():
        return Drawn([])
    drawn: Drawn = registry.get(audit)(look)
    return drawn
