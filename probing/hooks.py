"""Plain forward hooks on a model's blocks, which look and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from torch import Tensor

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn
    from torch.utils.hooks import RemovableHandle

    from probing.models import Model

    Take = Callable[[str, Tensor], None]


class Hooks:
    """Calls a function with each wanted layer's output while the model runs.

    Used as a context: the hooks are there within it and gone after it, whatever happens. The embedding
    output is what the first block is given; a block's output is a tensor, or the first of a tuple.
    """

    def __init__(self, model: Model, layers: Sequence[str], take: Take) -> None:
        self._model, self._wanted, self._take = model, frozenset(layers), take
        self._handles: list[RemovableHandle] = []
        self._seen: set[str] = set()
        self._calls: dict[str, int] = {}

    def __enter__(self) -> Self:
        try:
            self._place()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._handles:
            self._handles.pop().remove()

    def begin(self) -> None:
        """Before each run of the model."""
        self._seen.clear()
        self._calls.clear()

    def end(self) -> None:
        """After each run of the model.

        Raises:
            SutureError: a layer gave nothing, so the model is not built as its family says.
        """
        lacking = self._wanted - self._seen - {"static"}
        if lacking:
            raise SutureError(
                f"each layer must give states when the model runs; {min(lacking)} of {self._model.family} "
                "gave none; this checkpoint's code is not that of its family"
            )

    def _place(self) -> None:
        model, parts = self._model, self._model.parts
        blocks = list(model.module.get_submodule(parts.blocks).children())
        self._handles.append(blocks[0].register_forward_pre_hook(self._embedded, with_kwargs=True))
        for place, block in enumerate(blocks, 1):
            # A shared block is known by how often it was called, any other by its place.
            number = None if parts.shared else place
            self._on(block, "", number)
            for kind, path in (("attn", parts.attention), ("mlp", parts.mlp)):
                if path and any(name.endswith(f".{kind}") for name in self._wanted):
                    self._on(block.get_submodule(path), kind, number)
        if parts.norm and f"{model.depth}.norm" in self._wanted:
            self._on(model.module.get_submodule(parts.norm), "norm", model.depth)

    def _on(self, module: nn.Module, kind: str, number: int | None) -> None:
        def hook(_module: nn.Module, _given: Any, output: Any) -> None:
            self._calls[kind] = self._calls.get(kind, 0) + 1
            layer = self._calls[kind] if number is None else number
            self._see(f"{layer}.{kind}" if kind else str(layer), output)

        self._handles.append(module.register_forward_hook(hook))

    def _embedded(self, _module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        if "0" not in self._seen:
            self._see("0", given[0] if given else named.get("hidden_states"))

    def _see(self, layer: str, output: Any) -> None:
        if layer not in self._wanted:
            return
        state = output if isinstance(output, Tensor) else output[0]
        self._seen.add(layer)
        self._take(layer, state)
