"""The stages up to a pretrained model, and what it is asked as it is."""

from harness import pretraining, probing
from harness.corpora import reading, stream
from harness.models import importing
from harness.probes.probe import OBSTACLE
from harness.recipes import Pretrain
from harness.stages.job import Job, Metrics, checkpoint_folder, read_corpus
from harness.tokenizers import Tokenizer, adopting, training


def tokenizer(job: Job) -> Metrics:
    """Learns the vocabulary from the corpus, or takes that of a checkpoint."""
    if "checkpoint" in job.spec:
        adopting.adopt(checkpoint_folder(job), job.out)
        return {}
    corpus = read_corpus(job.spec["corpus"])
    settings = Tokenizer.model_validate(job.spec["tokenizer"])
    texts = (s for document in reading.read_documents(corpus) for s in document)
    training.train(settings, texts, job.out)
    return {}


def tokens(job: Job) -> Metrics:
    """Turns the corpus into a memory-mapped token stream, with some documents held out."""
    corpus = read_corpus(job.spec["corpus"])
    return dict(
        stream.write_streams(
            reading.read_documents(corpus),
            job.inputs["tokenizer"],
            job.out,
            corpus.validation_fraction,
        )
    )


def pretrain(job: Job) -> Metrics:
    """Trains a model from its initial weights to the end of the budget, or imports a checkpoint."""
    if "checkpoint" in job.spec:
        backbone = importing.adopt(checkpoint_folder(job))
        importing.check_tokens(backbone, job.inputs["tokenizer"])
        backbone.save(job.out / "model")
        return {}
    return dict(
        pretraining.pretrain(
            Pretrain.model_validate(job.spec["pretrain"]),
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


def probe(job: Job) -> Metrics:
    """Scores the items of a probe; leaves them, or, where the model cannot be asked, why."""
    model = job.inputs["pretrain"] / "model"
    probed = probing.probe(model, job.inputs["tokenizer"], job.spec["probe"])
    probed.items.to_parquet(job.out / "items.parquet", index=False)
    if probed.obstacle:
        (job.out / OBSTACLE).write_text(probed.obstacle)
    return dict(probed.accuracies)
