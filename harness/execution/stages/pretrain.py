"""Stages from corpus to pretrained model, and its evaluation without fine-tuning."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from shutil import rmtree
from typing import Any

import torch
from pydantic import TypeAdapter

from harness.core.compute import Compute
from harness.data.corpora import load_corpus, token_stream, tokenization
from harness.data.corpora.mixing import Document, split, split_corpus
from harness.data.corpora.size import expected_bytes
from harness.data.corpora.sources import Corpus, TaskCorpus, clean_text
from harness.data.digests import DataChangedError
from harness.data.tokenizers import Tokenizer, pretrained, training
from harness.execution.stages.context import Metrics, StageContext
from harness.execution.stages.planned_data import (
    planned_checkpoint,
    planned_items,
    planned_text,
    read_train,
    with_planned_vectors,
)
from harness.execution.stages.task_runner import network_folder
from harness.execution.utilisation import known_peak
from harness.finetuning.search.pretrain_search import BEST, with_settings
from harness.plan.batch_seeds import BATCH_SEED
from harness.plan.learned_vocabularies import VOCAB_SIZE
from harness.plan.plan import CHOSEN
from harness.pretraining import checkpoint_import, run
from harness.pretraining.distributed import num_ranks, uses_gpus
from harness.pretraining.held_out_loss import held_out
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring import probing
from harness.tasks.evaluation_texts import evaluation_texts
from harness.tasks.probes.probe import UNSUPPORTED_FILE
from harness.tasks.task import Task

MAX_SHARE = 0.99
"""Largest share of a text that is reported before its end."""
STREAMS = "streams"
"""Folder of unfinished token streams."""
TIMED_SECONDS = 1.0
"""Time from which a speed is reported."""
_READ = partial(load_corpus.read_documents, evaluation=evaluation_texts)


def train_tokenizer(context: StageContext) -> Metrics:
    """Trains a tokenizer on the corpus, or converts the tokenizer of a checkpoint; returns the
    entries that were learned."""
    if "checkpoint" in context.spec:
        with planned_checkpoint(context.spec) as folder:
            pretrained.adopt(folder, context.out)
        return {}
    settings = Tokenizer.model_validate(context.spec["tokenizer"])
    with planned_text(context.spec) as corpus:
        documents = _counted(split_corpus(clean_text(corpus), read=_READ), corpus, context)
        texts = (sentence for document in documents for sentence in document.sentences)
        return {VOCAB_SIZE: training.train(settings, texts, context.out)}


def tokenize(context: StageContext) -> Metrics:
    """Writes memory-mapped token streams of the corpus: train and held-out documents."""
    if context.spec["corpus"]["source"] == "task":
        texts = TaskCorpus.model_validate(context.spec["corpus"])
        documents = split(task_documents(context.spec, texts), texts.validation_fraction)
        return _write_streams(context, documents, None)
    held_out = TypeAdapter(Corpus | None).validate_python(context.spec.get("held_out"))
    try:
        with planned_text(context.spec) as corpus:
            documents = split_corpus(corpus, held_out, _READ)
            return _write_streams(context, documents, expected_bytes(corpus))
    except DataChangedError:
        rmtree(context.state / STREAMS, ignore_errors=True)  # it may hold other text
        raise


def _write_streams(
    context: StageContext, documents: Iterable[Document], total: int | None
) -> Metrics:
    """Writes the token streams of documents; see `_report` for `total`."""

    def report(progress: tokenization.Progress) -> None:
        figures = {}
        if progress.seconds > TIMED_SECONDS:
            figures["tokens_per_second"] = progress.new_tokens / progress.seconds
        _report(context, total, progress.documents, progress.bytes, **figures)

    work = context.state / STREAMS
    work.mkdir(exist_ok=True)
    out = context.out
    return dict(tokenization.write_split(documents, context.inputs["tokenizer"], out, work, report))


def _counted(
    documents: Iterable[Document], corpus: Corpus, context: StageContext
) -> Iterator[Document]:
    """`documents`, whose number and size are reported."""
    size, total = 0, expected_bytes(corpus)
    _report(context, total, 0, 0)
    for number, document in enumerate(documents, start=1):
        size += document.num_bytes
        _report(context, total, number, size)
        yield document


def _report(
    context: StageContext, total: int | None, documents: int, size: int, **figures: float
) -> None:
    """Reports the share of a text of which `size` bytes are read, if its size is known.

    Args:
        total: bytes, of compressed files by estimate.
    """
    done = min(size, round(MAX_SHARE * total)) if total else 0
    context.progress(done, total or 1, documents=documents, megabytes=size / 1e6, **figures)


def task_documents(spec: Mapping[str, Any], corpus: TaskCorpus) -> Iterator[list[str]]:
    """Documents of sentences from the texts of the train set, without hold-out and labels.

    One document per example, with all text fields in order (the words of a tagging example joined
    by spaces); repeated examples count once.

    Args:
        spec: holds `task`, `content`, `fingerprint`, and the fields of a protocol that draw the
            hold-out.
    """
    task = Task.model_validate({"name": spec["task"], **spec["content"]})
    train, _ = read_train(task, spec["fingerprint"], spec)
    joined = [(" ".join(words),) for words in train.texts] if task.kind == "tagging" else None
    for texts in islice(dict.fromkeys(joined or train.texts), corpus.max_documents):
        if sentences := [sentence for text in texts for sentence in load_corpus.paragraphs(text)]:
            yield sentences


def pretrain(context: StageContext) -> Metrics:
    """Trains a model for its budget, or imports a checkpoint."""
    if "checkpoint" in context.spec:
        with planned_checkpoint(context.spec) as folder:
            backbone = checkpoint_import.adopt(folder)
            checkpoint_import.check_tokens(backbone, context.inputs["tokenizer"])
            backbone.save(context.out / "model")
        return {}
    chosen = {}
    if CHOSEN in context.inputs:
        chosen = json.loads((context.inputs[CHOSEN] / BEST).read_text())
    return train_network(context, with_settings(declared_run(context), chosen))


def declared_run(context: StageContext) -> Pretrain:
    """The settings of a stage, with the word vectors as they were when it was planned."""
    spec = Pretrain.model_validate(context.spec["pretrain"])
    planned = context.spec.get("vectors")
    return with_planned_vectors(spec, planned, context.state) if planned else spec


def train_network(context: StageContext, spec: Pretrain) -> Metrics:
    """Trains a network with the data, seed and folders of a stage."""
    figures = run.pretrain(
        spec,
        tokens=context.inputs["tokens"],
        tokenizer=context.inputs["tokenizer"],
        out=context.out,
        work=context.state,
        seed=context.spec.get(BATCH_SEED, context.spec["seed"]),
        progress=context.progress,
        compute=context.compute,
        folders=context.inputs,
        loggers=context.loggers(),
    )
    return {**figures, **utilisation(figures, context.compute)}


def utilisation(figures: Mapping[str, float], compute: Compute) -> Metrics:
    """The model FLOPs utilisation (`mfu`) of a run on GPUs whose peak rate is known.

    Args:
        figures: of `harness.pretraining.run.pretrain`.
    """
    name = torch.cuda.get_device_name() if uses_gpus(compute) else ""
    peak = known_peak(name, compute.precision)
    if not peak or "flops_per_second" not in figures:
        return {}
    return {"mfu": figures["flops_per_second"] / (num_ranks() * peak)}


def continue_pretraining(context: StageContext) -> Metrics:
    """Trains a pretrained model on other text."""
    spec = Pretrain.model_validate(context.spec["pretrain"])
    text = token_stream.TokenStream.open(context.inputs["tokens"] / "train")
    return train_network(context, _with_full_batches(spec, text.num_tokens))


def _with_full_batches(spec: Pretrain, num_tokens: int) -> Pretrain:
    """The run with its batch size reduced to what `num_tokens` fill: texts of a task are few and
    read many times."""
    longest = max(phase.sequence_length for phase in spec.phases)
    fitting = max(1, num_tokens // longest)
    return spec.model_copy(update={"batch_size": min(spec.batch_size, fitting)})


def held_out_loss(context: StageContext) -> Metrics:
    """Computes the loss of a model on held-out text, as at the end of pretraining."""
    spec, inputs = Pretrain.model_validate(context.spec["pretrain"]), context.inputs
    folders = inputs["tokens"], inputs["tokenizer"]
    return dict(held_out(spec, *folders, context.spec["seed"], inputs, context.compute))


def probe(context: StageContext) -> Metrics:
    """Scores the items of a probe; writes them, or the reason why the model does not support it."""
    model = network_folder(context)
    read = partial(planned_items, context.spec)
    tokenizer, name = context.inputs["tokenizer"], context.spec["probe"]
    probed = probing.probe(model, tokenizer, name, read, context.compute)
    probed.items.to_parquet(context.out / "items.parquet", index=False)
    if probed.unsupported_reason:
        (context.out / UNSUPPORTED_FILE).write_text(probed.unsupported_reason)
    return dict(probed.accuracies)
