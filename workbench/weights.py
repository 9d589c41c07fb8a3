"""The matrices of a checkpoint, read from its files a few rows at a time, without building a model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import UnknownName, UnreadableFile, UnsafeFile
from workbench.tensorfiles import Tensor, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

INPUT = (
    "shared.weight", "embed_tokens.weight", "word_embeddings.weight", "wte.weight", "embed_in.weight",
    "tok_embeddings.weight", "token_embedding.weight", "word_embedding.weight", "embeddings.weight",
    "embedding.weight", "emb.weight",
)  # fmt: skip
"""Last parts of the names under which families keep the input embedding, the surest first."""

OUTPUT = (
    "lm_head.weight", "embed_out.weight", "lm_head.decoder.weight", "predictions.decoder.weight",
    "vocab_projector.weight", "lm_loss.weight", "pred_layer.proj.weight", "output.weight", "head.weight",
    "decoder.weight",
)  # fmt: skip
"""Likewise of the matrix that gives logits."""

BIAS = (
    "lm_head.bias", "embed_out.bias", "predictions.bias", "predictions.decoder.bias", "lm_head.decoder.bias",
    "vocab_projector.bias", "lm_loss.bias", "pred_layer.proj.bias", "final_logits_bias", "decoder.bias",
)  # fmt: skip
"""Likewise of what is added to the logits."""

WIDTHS = ("hidden_size", "n_embd", "d_model", "dim", "emb_dim")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
CHUNK_BYTES = 32 << 20
"""Bytes of 32-bit floats that a pass over a matrix holds at a time."""


class Tie(NamedTuple):
    """Whether input and output embedding are one matrix, as the weights decide it.

    Attributes:
        tied: there is no output matrix, or it equals the input's bit for bit.
        why: what decided.
        mismatch: in one sentence, how the config says otherwise; None where it agrees or says nothing.
    """

    tied: bool
    why: str
    mismatch: str | None = None


@dataclass(frozen=True, eq=False)
class Weights:
    """The tensors of a checkpoint by name.

    Attributes:
        place: the folder or file as given.
        files: the files that hold the tensors, in order of their names.
        tensors: where each tensor lies.
        config: the model's ``config.json``, empty where there is none.
    """

    place: Path
    files: tuple[Path, ...]
    tensors: Mapping[str, Tensor] = field(repr=False)
    config: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tensors, sorted."""
        return tuple(sorted(self.tensors))

    def shape(self, name: str) -> tuple[int, ...]:
        """A tensor's dimensions."""
        return self._tensor(name).shape

    def dtype(self, name: str) -> str:
        """A tensor's stored type, in the words of safetensors, such as ``BF16``."""
        return self._tensor(name).dtype

    def rows(self, name: str, start: int, stop: int) -> NDArray[np.float32]:
        """Rows start … stop - 1 of a tensor as 32-bit floats (rows, ...), in memory of their own.

        Raises:
            UnknownName: no such tensor or rows.
            UnreadableFile: its type is not F32, F16, BF16 or F64, or the file has become shorter.
        """
        tensor = self._tensor(name)
        if not tensor.shape or not 0 <= start <= stop <= tensor.shape[0]:
            raise UnknownName(
                f"rows of {name} must lie in its shape {list(tensor.shape)}; got {start} to {stop}; "
                "ask for fewer"
            )
        return tensor.read(name, start, stop)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """A whole tensor as 32-bit floats."""
        tensor = self._tensor(name)
        if not tensor.shape:
            return tensor._replace(shape=(1,)).read(name, 0, 1).reshape(())
        return tensor.read(name, 0, tensor.shape[0])

    def chunks(
        self, name: str, stop: int | None = None, most: int = CHUNK_BYTES
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """A tensor's rows in order, a few at a time: index of the first, and the rows.

        Args:
            name: the tensor.
            stop: the row before which to stop; None for all.
            most: bytes of 32-bit floats at a time.
        """
        tensor = self._tensor(name)
        end = tensor.shape[0] if stop is None else min(stop, tensor.shape[0])
        step = max(1, most // (4 * max(1, tensor.width)))
        for start in range(0, end, step):
            yield start, self.rows(name, start, min(end, start + step))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file; of several, that of their SHA-256 sums in order of their names."""
        sums = []
        for path in self.files:
            with path.open("rb") as file:
                sums.append(hashlib.file_digest(file, "sha256").hexdigest())
        return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()

    def embedding(self) -> str | None:
        """Name of the matrix (rows, width) that turns ids into vectors; None where nothing tells it.

        Where several have a known name, the one whose rows or width the config names comes first, then
        the surer name, then the larger.
        """
        known = [name for name in self.tensors if self._known(name, INPUT)]
        size, width = self._said("vocab_size"), self._said(*WIDTHS)

        def order(name: str) -> tuple[bool, bool, int, int, str]:
            rows, columns = self.tensors[name].shape
            return columns != width, rows != size, self._rank(name, INPUT), -rows, name

        if known:
            return min(known, key=order)
        shaped = [name for name, each in self.tensors.items() if each.shape == (size, width)]
        named = [name for name in shaped if "emb" in name.lower()]
        return named[0] if len(named) == 1 else None

    def unembedding(self) -> str | None:
        """Name of the matrix (rows, width) that turns vectors into logits; None where there is none.

        It has the input embedding's width and, but for a language-model head by name, as many rows.
        """
        first = self.embedding()
        if first is None:
            return None
        rows, width = self.tensors[first].shape
        fit = [
            name
            for name in self.tensors
            if self._known(name, OUTPUT)
            and self.tensors[name].shape[1] == width
            and (self.tensors[name].shape[0] == rows or self._rank(name, OUTPUT) < 2)
        ]
        return min(fit, key=lambda name: (self._rank(name, OUTPUT), name), default=None)

    def output_bias(self) -> str | None:
        """Name of what is added to the logits (rows,) or (1, rows); None where there is none."""
        matrix = self.unembedding() or self.embedding()
        if matrix is None:
            return None
        rows = self.tensors[matrix].shape[0]
        fit = [
            name
            for name, each in self.tensors.items()
            if each.shape in ((rows,), (1, rows)) and self._rank(name, BIAS) < len(BIAS)
        ]
        return min(fit, key=lambda name: (self._rank(name, BIAS), name), default=None)

    @property
    def tied(self) -> bool:
        """Whether input and output embedding are one matrix, as the weights decide it."""
        return self.tie.tied

    @cached_property
    def tie(self) -> Tie:
        """Whether input and output embedding are one matrix, why, and whether the config says otherwise."""
        first, last = self.embedding(), self.unembedding()
        if last is None:
            tied, why = True, "there is no output matrix"
        elif self._equal(str(first), last):
            tied, why = True, "the output matrix equals the input's bit for bit"
        else:
            tied, why = False, "the output matrix is another"
        said = self._flag()
        if said is None or said == tied:
            return Tie(tied, why)
        mismatch = f"the config says tie_word_embeddings = {str(said).lower()}, but {why}"
        if last is None:
            mismatch += ", as in a file that lacks the model's head"
        return Tie(tied, why, mismatch)

    def _equal(self, one: str, two: str) -> bool:
        if self.shape(one) != self.shape(two) or self.dtype(one) != self.dtype(two):
            return False
        pairs = zip(self.chunks(one), self.chunks(two), strict=True)
        return all(a.tobytes() == b.tobytes() for (_, a), (_, b) in pairs)

    def _flag(self) -> bool | None:
        inner = self.config.get("text_config")
        for where in (self.config, inner if isinstance(inner, dict) else {}):
            if isinstance(where.get("tie_word_embeddings"), bool):
                return bool(where["tie_word_embeddings"])
        return None

    def _said(self, *keys: str) -> int | None:
        inner = self.config.get("text_config")
        for where in (self.config, inner if isinstance(inner, dict) else {}):
            for key in keys:
                if type(where.get(key)) is int:
                    return int(where[key])
        return None

    def _known(self, name: str, endings: tuple[str, ...]) -> bool:
        return len(self.tensors[name].shape) == 2 and self._rank(name, endings) < len(endings)

    @staticmethod
    def _rank(name: str, endings: tuple[str, ...]) -> int:
        """Place of the ending that a name has, whole parts between dots; their number where it has none."""
        dotted = f".{name}"
        return next((k for k, end in enumerate(endings) if dotted.endswith(f".{end}")), len(endings))

    def _tensor(self, name: str) -> Tensor:
        if name not in self.tensors:
            near = ", ".join(self.names[:6]) or "none"
            raise UnknownName(f"a tensor must be one of {self.place}; {name!r} is none; it has {near} …")
        return self.tensors[name]


def open_weights(place: str | Path) -> Weights:
    """Opens a checkpoint: a folder with ``model.safetensors`` or shards and their index, or one file.

    Only the headers are read. What they say is checked against the files' sizes, the index and the config.

    Raises:
        UnreadableFile: nothing there, a shard missing, a file cut short or with a header that lies, or
            a config of another width than any tensor.
        UnsafeFile: the weights are there as a pickle alone.
    """
    place = Path(place).expanduser()
    try:
        folder = place.is_dir()
        if not folder:
            place.stat()
        files, index = _files(place) if folder else ((place,), None)
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(
            f"weights must be a file or folder to be read; {str(place)!r} is not ({why}); check the path"
        ) from None
    tensors: dict[str, Tensor] = {}
    for path in files:
        for name, tensor in read_header(path).items():
            if name in tensors:
                raise UnreadableFile(
                    f"each tensor must lie in one shard; {name} lies in {tensors[name].path.name} and in "
                    f"{path.name} of {place}; remove the files of another checkpoint"
                )
            tensors[name] = tensor
    if index is not None:
        _as_indexed(place, index, tensors)
    weights = Weights(place, files, tensors, _config(place if folder else place.parent))
    _of_config(weights)
    return weights


def _files(folder: Path) -> tuple[tuple[Path, ...], dict[str, str] | None]:
    """The files of a folder's checkpoint, and for shards which tensor lies where."""
    whole = folder / "model.safetensors"
    if whole.exists() or whole.is_symlink():
        return (whole,), None
    found = sorted(folder.glob("*.safetensors.index.json"))
    if found:
        index = _index(found[0])
        paths = [folder / name for name in sorted(set(index.values()))]
        lacking = [path.name for path in paths if not path.is_file()]
        if lacking:
            raise UnreadableFile(
                f"every shard of a checkpoint must be there; {folder} lacks {', '.join(lacking[:4])} of "
                f"{len(paths)}; fetch what is missing"
            )
        return tuple(paths), index
    found = sorted(folder.glob("*.safetensors"))
    if found:
        return tuple(found), None
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        raise UnsafeFile(
            f"weights must be safetensors, which run nothing when read; {folder} has {pickles[0]} alone; "
            "save the model as safetensors"
        )
    raise UnreadableFile(
        f"a model's folder must hold model.safetensors, or shards with their index; {folder} holds neither; "
        "name the folder with the weights"
    )


def _index(path: Path) -> dict[str, str]:
    doc = _json(path)
    listed = doc.get("weight_map") if doc else None
    if not isinstance(listed, dict) or not listed:
        raise UnreadableFile(
            f"an index must be JSON with a weight_map from tensors to shards; {path} is not; fetch it again"
        )
    for shard in listed.values():
        if not isinstance(shard, str) or not shard or Path(shard).name != shard:
            raise UnreadableFile(
                f"an index must name shards beside it; {path} names {str(shard)[:80]!r}; fetch it again"
            )
    return listed


def _as_indexed(folder: Path, index: Mapping[str, str], tensors: dict[str, Tensor]) -> None:
    wrong = [name for name, shard in index.items() if name not in tensors or tensors[name].path.name != shard]
    if wrong or len(index) != len(tensors):
        name = wrong[0] if wrong else min(set(tensors) - set(index))
        said = f"in {index[name]}" if name in index else "nowhere"
        real = f"in {tensors[name].path.name}" if name in tensors else "nowhere"
        raise UnreadableFile(
            f"shards must hold what their index says; in {folder} {name} is to be {said} and is {real}; "
            "fetch shards and index of one checkpoint"
        )


def _of_config(weights: Weights) -> None:
    """Refuses a config of another model: one whose width no tensor has."""
    width = weights._said(*WIDTHS)  # noqa: SLF001 the class's own constructor in all but name
    sizes = {size for tensor in weights.tensors.values() for size in tensor.shape}
    if width is not None and sizes and width not in sizes:
        raise UnreadableFile(
            f"weights and config must be of one model; the config at {weights.place} says width {width}, "
            f"which no tensor has; copy the config that belongs to the weights"
        )


def _config(folder: Path) -> dict[str, Any]:
    return _json(folder / "config.json") or {}


def _json(path: Path) -> dict[str, Any] | None:
    try:
        doc = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return doc if isinstance(doc, dict) else None
