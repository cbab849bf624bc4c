"""Stages from corpus to pretrained model, and its evaluation without fine-tuning."""

from harness.data.corpora import load_corpus, token_stream
from harness.data.corpora.sources import TaskCorpus
from harness.data.tokenizers import Tokenizer, pretrained, training
from harness.execution.stages.context import (
    Metrics,
    StageContext,
    checkpoint_folder,
    read_corpus,
    read_text,
)
from harness.execution.stages.task_corpus import task_documents
from harness.pretraining import checkpoint_import, run
from harness.pretraining.held_out_loss import held_out
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring import probing
from harness.tasks.probes.probe import UNSUPPORTED_FILE


def train_tokenizer(context: StageContext) -> Metrics:
    """Trains a tokenizer on the corpus, or converts the tokenizer of a checkpoint."""
    if "checkpoint" in context.spec:
        pretrained.adopt(checkpoint_folder(context), context.out)
        return {}
    corpus = read_corpus(context.spec["corpus"])
    settings = Tokenizer.model_validate(context.spec["tokenizer"])
    texts = (s for document in load_corpus.read_documents(corpus) for s in document)
    training.train(settings, texts, context.out)
    return {}


def tokenize(context: StageContext) -> Metrics:
    """Writes memory-mapped token streams of the corpus: train and held-out documents."""
    corpus = read_text(context.spec["corpus"])
    documents = (
        task_documents(context.spec, corpus)
        if isinstance(corpus, TaskCorpus)
        else load_corpus.read_documents(corpus)
    )
    tokenizer, fraction = context.inputs["tokenizer"], corpus.validation_fraction
    return dict(token_stream.write_streams(documents, tokenizer, context.out, fraction))


def pretrain(context: StageContext) -> Metrics:
    """Trains a model for its budget, or imports a checkpoint."""
    if "checkpoint" in context.spec:
        backbone = checkpoint_import.adopt(checkpoint_folder(context))
        checkpoint_import.check_tokens(backbone, context.inputs["tokenizer"])
        backbone.save(context.out / "model")
        return {}
    return _pretrain(context, Pretrain.model_validate(context.spec["pretrain"]))


def _pretrain(context: StageContext, spec: Pretrain) -> Metrics:
    return dict(
        run.pretrain(
            spec,
            tokens=context.inputs["tokens"],
            tokenizer=context.inputs["tokenizer"],
            out=context.out,
            work=context.state,
            seed=context.spec["seed"],
            progress=context.progress,
            compute=context.compute,
            folders=context.inputs,
        )
    )


def continue_pretraining(context: StageContext) -> Metrics:
    """Trains a pretrained model on other text."""
    spec = Pretrain.model_validate(context.spec["pretrain"])
    text = token_stream.TokenStream.open(context.inputs["tokens"] / "train")
    return _pretrain(context, _with_full_batches(spec, text.num_tokens))


def _with_full_batches(spec: Pretrain, num_tokens: int) -> Pretrain:
    """The run with its batch size reduced to what `num_tokens` fill: texts of a task are few and
    read many times."""
    longest = max(phase.sequence_length for phase in spec.phases)
    fitting = max(1, num_tokens // longest)
    return spec.model_copy(update={"batch_size": min(spec.batch_size, fitting)})


def held_out_loss(context: StageContext) -> Metrics:
    """Computes the loss of a model on held-out text, as at the end of pretraining."""
    spec, inputs = Pretrain.model_validate(context.spec["pretrain"]), context.inputs
    return dict(held_out(spec, inputs["tokens"], inputs["tokenizer"], context.spec["seed"], inputs))


def probe(context: StageContext) -> Metrics:
    """Scores the items of a probe; writes them, or the reason why the model does not support it."""
    model = context.inputs["pretrain"] / "model"
    probed = probing.probe(model, context.inputs["tokenizer"], context.spec["probe"])
    probed.items.to_parquet(context.out / "items.parquet", index=False)
    if probed.unsupported_reason:
        (context.out / UNSUPPORTED_FILE).write_text(probed.unsupported_reason)
    return dict(probed.accuracies)
