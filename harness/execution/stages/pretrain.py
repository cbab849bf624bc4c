"""The stages up to a pretrained model, and what it is asked as it is."""

from harness.data.corpora import load_corpus, token_stream
from harness.data.corpora.sources import TaskCorpus
from harness.data.tokenizers import Tokenizer, pretrained, training
from harness.execution.stages.job import Job, Metrics, checkpoint_folder, read_corpus, read_text
from harness.execution.stages.task_corpus import task_documents
from harness.models.checkpoints import load
from harness.pretraining import run
from harness.pretraining.held_out_loss import held_out
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring import probing
from harness.tasks.probes.probe import OBSTACLE


def tokenizer(job: Job) -> Metrics:
    """Learns the vocabulary from the corpus, or takes that of a checkpoint."""
    if "checkpoint" in job.spec:
        pretrained.adopt(checkpoint_folder(job), job.out)
        return {}
    corpus = read_corpus(job.spec["corpus"])
    settings = Tokenizer.model_validate(job.spec["tokenizer"])
    texts = (s for document in load_corpus.read_documents(corpus) for s in document)
    training.train(settings, texts, job.out)
    return {}


def tokens(job: Job) -> Metrics:
    """Turns the corpus into a memory-mapped token stream, with some documents held out."""
    corpus = read_text(job.spec["corpus"])
    documents = (
        task_documents(job.spec, corpus)
        if isinstance(corpus, TaskCorpus)
        else load_corpus.read_documents(corpus)
    )
    return dict(
        token_stream.write_streams(
            documents,
            job.inputs["tokenizer"],
            job.out,
            corpus.validation_fraction,
        )
    )


def pretrain(job: Job) -> Metrics:
    """Trains a model from its initial weights to the end of the budget, or imports a checkpoint."""
    if "checkpoint" in job.spec:
        backbone = load.adopt(checkpoint_folder(job))
        load.check_tokens(backbone, job.inputs["tokenizer"])
        backbone.save(job.out / "model")
        return {}
    return _pretrained(job, Pretrain.model_validate(job.spec["pretrain"]))


def _pretrained(job: Job, spec: Pretrain) -> Metrics:
    return dict(
        run.pretrain(
            spec,
            tokens=job.inputs["tokens"],
            tokenizer=job.inputs["tokenizer"],
            out=job.out,
            work=job.state,
            seed=job.spec["seed"],
            progress=job.progress,
            compute=job.compute,
            folders=job.inputs,
        )
    )


def continued(job: Job) -> Metrics:
    """Trains on from the weights of another run; a batch holds no more than the text does."""
    spec = Pretrain.model_validate(job.spec["pretrain"])
    text = token_stream.TokenStream.open(job.inputs["tokens"] / "train")
    return _pretrained(job, _with_full_batches(spec, text.num_tokens))


def _with_full_batches(spec: Pretrain, num_tokens: int) -> Pretrain:
    """The run with as many sequences in a batch as a text of `num_tokens` gives, where that is less
    than it asks for: a small text, as a task's own, is read again and again."""
    longest = max(phase.sequence_length for phase in spec.phases)
    fitting = max(1, num_tokens // longest)
    return spec.model_copy(update={"batch_size": min(spec.batch_size, fitting)})


def loss(job: Job) -> Metrics:
    """Tells the loss of a model on held-out text, as the end of a run does."""
    spec = Pretrain.model_validate(job.spec["pretrain"])
    return dict(
        held_out(spec, job.inputs["tokens"], job.inputs["tokenizer"], job.spec["seed"], job.inputs)
    )


def probe(job: Job) -> Metrics:
    """Scores the items of a probe; leaves them, or, where the model cannot be asked, why."""
    model = job.inputs["pretrain"] / "model"
    probed = probing.probe(model, job.inputs["tokenizer"], job.spec["probe"])
    probed.items.to_parquet(job.out / "items.parquet", index=False)
    if probed.obstacle:
        (job.out / OBSTACLE).write_text(probed.obstacle)
    return dict(probed.accuracies)
