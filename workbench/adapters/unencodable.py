"""An inventory whose tokenizer cannot be rebuilt: it can be read and audited, but encodes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.normalising import Normalised
    from workbench.tokenizer import Encoded


@dataclass(frozen=True)
class UnencodableEngine:
    """Answers each request with the reason why there is no encoder.

    Attributes:
        source: what was read.
        reason: what it lacks, as the middle part of a message.
    """

    source: str
    reason: str

    def encode_batch(self, texts: Sequence[str]) -> Encoded:  # noqa: ARG002 part of the interface
        """Refuses."""
        self._refuse()

    def encode_control(self, text: str) -> list[int]:  # noqa: ARG002 likewise
        """Refuses."""
        self._refuse()

    def normalise(self, text: str) -> Normalised:  # noqa: ARG002 likewise
        """Refuses."""
        self._refuse()

    def pretokenize(self, text: str) -> list[str]:  # noqa: ARG002 likewise
        """Refuses."""
        self._refuse()

    def model_ids(self, pretoken: str) -> list[int]:  # noqa: ARG002 likewise
        """Refuses."""
        self._refuse()

    def unknown_spans(
        self,
        text: str,  # noqa: ARG002 likewise
        *,
        control: bool = False,  # noqa: ARG002 likewise
    ) -> list[tuple[int, int, bool]]:
        """Refuses."""
        self._refuse()

    def decode_each(self, ids: Sequence[int]) -> list[str | None]:
        """Nothing: there is no decoder to ask."""
        return [None] * len(ids)

    def _refuse(self) -> NoReturn:
        raise SutureError(
            f"to encode text, a source must hold the whole tokenizer; {self.source} gives an inventory only "
            f"({self.reason}); use the model's own tokenizer file"
        )
