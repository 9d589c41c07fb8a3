"""A worked distillation at CPU size: one small teacher, students over tokens, bytes and another vocabulary.

Every student sees the same passages in the same order for as many steps. What is compared is bits per byte
on the same held-out bytes; the student with ends of tokens is charged for them too, which makes its figure an
upper bound. A model of a few hundred thousand parameters on half a megabyte shows how the methods work and
what they cost. It cannot show which of them is better for a real model.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch
from safetensors.torch import load_file, save_file

from probing.bridge.arms import ARMS, Arm, Classroom, bits
from probing.bridge.curves import fits
from probing.bridge.dumps import Dump, stored_bytes
from probing.passages import split
from probing.tiny import Schedule, Shape, Trainer, batch, build, log_probabilities, parameters, shuffled
from workbench.adapters import load
from workbench.adapters.hf_train import byte_level_bpe
from workbench.audit import Outcome
from workbench.errors import SutureError
from workbench.findings import Finding
from workbench.runs import Run, RunWriter, environment, piece_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch import Tensor

    from workbench.corpora import Corpus

TEACHER = Arm("teacher", "the teacher: its tokens, cross-entropy", "tokens", "ce")
POINTS = 6
"""Steps at which a student is measured, doubling up to the last."""

KEPT_EVERY = 25
"""Steps after which a student's state is kept."""

SCHEMA = pl.Schema(
    {"arm": pl.String(), "step": pl.Int64(), "positions": pl.Int64(), "flops": pl.Float64(),
     "bits_per_byte": pl.Float64()}
)  # fmt: skip


@dataclass(frozen=True)
class Design:
    """The size of the experiment.

    Attributes:
        steps: optimiser steps of each student.
        teacher_steps: of the teacher.
        size: passages a step.
        passage: bytes of a passage at most.
        entries: entries of the teacher's BPE.
        other: entries of the other BPE, trained on half of the passages.
        width: of a student's states; the teacher's are half as wide again.
        layers: of a student; the teacher has one more.
        seed: of weights and orders.
        limit: passages taken at most.
    """

    steps: int = 128
    teacher_steps: int = 256
    size: int = 16
    passage: int = 160
    entries: int = 1024
    other: int = 600
    width: int = 96
    layers: int = 2
    seed: int = 0
    limit: int | None = None

    def points(self, steps: int) -> list[int]:
        """Steps at which to measure."""
        return sorted({max(1, steps >> back) for back in range(POINTS)})


class Experiment:
    """The experiment in one folder; what is finished there is not done again."""

    def __init__(
        self, corpus: Corpus, design: Design, folder: Path, progress: Callable[[str, int, int], None]
    ) -> None:
        self.design, self.progress = design, progress
        self.texts = split(corpus, design.passage, limit=design.limit)
        self.writer = RunWriter(folder)
        self.writer.begin()
        self.held = sum(len(text.encode()) for text in self.texts.held)
        teacher = load(byte_level_bpe(self.texts.train, design.entries), "teacher")
        other = load(byte_level_bpe(self.texts.train[::2], design.other), "other")
        self.room = Classroom(teacher, other)
        self.key = {"design": asdict(design), "corpus": corpus.digest, "teacher": teacher.inventory.digest}
        self.dump = Dump(self.writer.partial / f"dump-{piece_key(**self.key)}", len(self.texts.train))

    def run(self, arms: Sequence[Arm]) -> list[str]:
        """Trains the teacher, keeps what it predicts, and trains the students; gives the pieces' keys."""
        keys = [piece_key(arm=arm.name, **self.key) for arm in (TEACHER, *arms)]
        for at, (arm, key) in enumerate(zip((TEACHER, *arms), keys, strict=True)):
            self.progress(arm.name, at, len(keys))
            if not self.writer.done(key):
                trainer, rows = self._train(arm, key)
                self.writer.keep(key, _outcome(arm, rows, trainer))
            if arm is TEACHER:
                self._teach(key)
        return keys

    def _shape(self, arm: Arm) -> Shape:
        extra = arm is TEACHER
        return Shape(
            self.room.symbols(arm.reads),
            self.design.width * (3 if extra else 2) // 2,
            self.design.layers + extra,
            heads=4,
            context=2 * self.design.passage + 2,
        )

    def _state(self, key: str) -> Path:
        return self.writer.partial / "states" / f"{key}.safetensors"

    def _train(self, arm: Arm, key: str) -> tuple[Trainer, list[dict[str, Any]]]:
        design, shape = self.design, self._shape(arm)
        steps = design.teacher_steps if arm is TEACHER else design.steps
        trainer = Trainer(build(shape, design.seed), Schedule(steps=steps))
        batches = shuffled(len(self.texts.train), design.size, design.seed)
        rows, counted = self._restore(trainer, arm, key)
        for _ in range(trainer.step):
            next(batches)
        held = self.room.read(arm.reads, self.texts.held)
        points, weights = design.points(steps), parameters(trainer.model)
        while trainer.step < steps:
            numbers = next(batches)
            texts = [self.texts.train[number] for number in numbers]
            documents = batch(self.room.read(arm.reads, texts), shape)
            counted += int(documents.real.sum())
            scores = log_probabilities(trainer.model, shape, documents)
            taught = partial(self.dump.read, numbers)
            trainer.advance(self.room.loss(arm.teach, scores, documents, texts, taught))
            self.progress(f"{arm.name}, step {trainer.step}", trainer.step, steps)
            if trainer.step in points:
                value = bits(trainer.model, shape, held) / self.held
                rows.append({"arm": arm.name, "step": trainer.step, "positions": counted,
                             "flops": 6.0 * weights * counted, "bits_per_byte": value})  # fmt: skip
            if trainer.step % KEPT_EVERY == 0 or trainer.step in points:
                self._keep(trainer, key, rows, counted)
        return trainer, rows

    def _keep(self, trainer: Trainer, key: str, rows: list[dict[str, Any]], counted: int) -> None:
        path = self._state(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        names = ("step", "positions", "flops", "bits_per_byte")
        figures = torch.tensor([[row[name] for name in names] for row in rows], dtype=torch.float64)
        figures = figures.reshape(-1, len(names))
        writing = path.with_suffix(".writing")
        save_file({**trainer.state(), "rows": figures, "counted": torch.tensor(counted)}, writing)
        writing.replace(path)

    def _restore(self, trainer: Trainer, arm: Arm, key: str) -> tuple[list[dict[str, Any]], int]:
        path = self._state(key)
        if not path.exists():
            return [], 0
        kept = load_file(path)
        figures, counted = kept.pop("rows").tolist(), int(kept.pop("counted"))
        trainer.restore(kept)
        return [
            {
                "arm": arm.name,
                "step": int(step),
                "positions": int(positions),
                "flops": flops,
                "bits_per_byte": value,
            }
            for step, positions, flops, value in figures
        ], counted

    def _teach(self, key: str) -> None:
        """Keeps what the trained teacher predicts for every passage to learn from."""
        shape = self._shape(TEACHER)
        trainer = Trainer(build(shape, self.design.seed), Schedule(steps=self.design.teacher_steps))
        self._restore(trainer, TEACHER, key)
        trainer.model.eval()

        def predict(numbers: list[int]) -> list[Tensor]:
            self.progress("keeping what the teacher predicts", numbers[0], len(self.texts.train))
            rows = self.room.read("tokens", [self.texts.train[number] for number in numbers])
            with torch.no_grad():
                scores = log_probabilities(trainer.model, shape, batch(rows, shape))
            return [score[: len(row)] for score, row in zip(scores, rows, strict=True)]

        self.dump.write(predict)


def _outcome(arm: Arm, rows: list[dict[str, Any]], trainer: Trainer) -> Outcome:
    last = rows[-1]
    note = f"{arm.about}; a small run, one seed"
    if arm.reads == "bytes and ends":
        note += "; ends of tokens are charged, so this is an upper bound"
    findings = [
        Finding(arm.name, "distil", measure="bits_per_byte", value=last["bits_per_byte"], unit="bits/byte",
                variant="held-out passages, last step", step=last["step"], note=note),
        Finding(arm.name, "distil", "parameters", float(parameters(trainer.model)), unit="parameters"),
        Finding(arm.name, "distil", "compute", last["flops"], "6 · parameters · positions", "FLOP"),
    ]  # fmt: skip
    return Outcome(findings, {"distil": pl.DataFrame(rows, SCHEMA)})


def distil(
    corpus: Corpus,
    design: Design,
    folder: Path,
    arms: Sequence[Arm],
    command: Sequence[str],
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Run:
    """Runs the experiment into a folder; a run that was stopped goes on where it was.

    Args:
        corpus: text to learn from.
        design: its size.
        folder: folder of the run.
        arms: the students.
        command: the command line, for the record.
        progress: told what is done, and how far.

    Raises:
        SutureError: too little text, or a loss that is not finite.
    """
    if not arms:
        raise SutureError(
            f"a distillation needs students; got none; name some of {', '.join(a.name for a in ARMS)}"
        )
    made = Experiment(corpus, design, folder, progress)
    keys = made.run(arms)
    tables = [
        pl.read_parquet(made.writer.partial / "pieces" / key / "tables" / "distil.parquet") for key in keys
    ]
    tokens = int(np.diff(made.room.teacher.encode_batch(made.texts.train).offsets).sum())
    size = sum(len(text.encode()) for text in made.texts.train)
    rows = made.room.teacher.inventory.rows_needed
    stored = stored_bytes(rows, tokens, size)
    cost = {
        "every id, a row a token": stored.every,
        "256 bytes and an end, a row a byte and a token": stored.ends,
        "256 bytes, a row a byte": stored.bytes,
    }
    storage = pl.DataFrame({"form": list(cost), "bytes_per_text_byte": list(cost.values())})
    last = piece_key(fits=True, arms=[arm.name for arm in arms], **made.key)
    made.writer.keep(last, Outcome([], {"distil_fits": fits(pl.concat(tables)), "distil_storage": storage}))
    manifest = {
        "command": list(command),
        "subjects": [made.room.teacher.card(), made.room.other.card()],
        "corpus": {"name": corpus.name, "source": corpus.source, "digest": corpus.digest},
        "audits": [{"name": "distil", "title": "A worked distillation at CPU size", "version": 1,
                    "summary": "Bits per byte of small students of one teacher.",
                    "options": asdict(design), "defaulted": []}],
        "skipped": [],
        "environment": environment(),
        "seconds": {},
    }  # fmt: skip
    made.writer.finish([*keys, last], manifest)
    return made.writer.publish()
