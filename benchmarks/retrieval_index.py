"""What approximate indexes of documents lose against exact search, and how fast they are.

    python benchmarks/retrieval_index.py [--repeats 5] [--tokens 4_000_000] [--store runs]

The questions of SQuAD's dev set search the paragraphs of dev and train set, and these together with
passages of WikiText-2, by two kinds of vectors: word counts weighted by TF-IDF and reduced to WIDTH
numbers by an SVD, as in latent semantic analysis (Deerwester et al. 1990), and the mean of word
vectors that a harness run learns from WikiText-2 (CBOW with negative sampling). One thread; exact
search is FAISS' own, too.
"""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from transformers import PreTrainedTokenizerFast

import harness
from benchmarks import common
from harness.data.corpora import CORPORA
from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import HubCorpus
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.faiss_search import built
from harness.finetuning.heads.retrieval import Retrieval
from harness.finetuning.protocol import Finetune
from harness.finetuning.ranking import Collection, Vectors, collection, listed_places
from harness.finetuning.retrieval_index import AnyIndex, Hnsw, Ivf
from harness.finetuning.run import outputs, prepared_model
from harness.study import Study
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.load_examples import available_splits, load_examples
from harness.tasks.metrics import METRICS

TASK = TASKS["squad_retrieval"]
WIDTH, AT, SENTENCES = 128, 10, 4
BASE = Path(__file__).parents[1] / "experiments" / "bases" / "wikitext_tiny.yaml"
INDEXES: dict[str, AnyIndex | None] = {
    "exact": None,
    "hnsw": Hnsw(),
    "hnsw, ef_search 64": Hnsw(ef_search=64),
    "hnsw, ef_search 256": Hnsw(ef_search=256),
    "ivf": Ivf(),
    "ivf, probes 8": Ivf(probes=8),
    "ivf, probes 32": Ivf(probes=32),
}
"""Name to index; what is not named has FAISS' default."""


def collections() -> tuple[Examples, dict[str, Collection]]:
    """The pairs of the dev set, and their collection with the paragraphs of train, and with
    passages of WikiText-2, too."""
    dev = load_examples(TASK, available_splits(TASK)[0])
    train = load_examples(TASKS["squad1"], "train")
    found = collection(dev)
    squad = [*found.documents, *(context for _, context in train.texts)]
    return dev, {
        name: replace(found, documents=list(dict.fromkeys(texts)))
        for name, texts in {"SQuAD": squad, "SQuAD, WikiText-2": squad + passages()}.items()
    }


def passages() -> list[str]:
    """WikiText-2's train set, SENTENCES at a time."""
    corpus = CORPORA["wikitext2"]
    assert isinstance(corpus, HubCorpus)
    return [
        " ".join(sentences[first : first + SENTENCES])
        for sentences in read_documents(corpus)
        for first in range(0, len(sentences), SENTENCES)
    ]


def lsa(found: Collection) -> Vectors:
    """Vectors of queries and documents by TF-IDF and a truncated SVD of the documents."""
    counter = TfidfVectorizer(stop_words="english", sublinear_tf=True)
    stored = counter.fit_transform(found.documents)
    reduce = TruncatedSVD(WIDTH, random_state=0).fit(stored)
    sides = counter.transform(found.queries), stored
    queries, documents = (normalize(reduce.transform(side)).astype(np.float32) for side in sides)
    return queries, documents


def word_vectors(study: Study, found: Collection) -> Vectors:
    """Means of the word vectors of the only arm of a finished study."""
    (run,) = study.plan.finetune_runs
    parents = study.plan.stages[run.key].parents
    files = {
        role: study.store.all_files(study.results.finished[key]) for role, key in parents.items()
    }
    tokenizer = PreTrainedTokenizerFast.from_pretrained(files["tokenizer"])
    head = Retrieval(TASK, study.experiment.evaluate.protocol, tokenizer)
    model = prepared_model(files["pretrain"] / "model", head, ADAPTATIONS["full"], 0, Finetune())
    texts = [(text,) for text in (*found.queries, *found.documents)]
    vectors = normalize(outputs(model, head, head.tokenized(texts, np.zeros(len(texts)))))
    return vectors[: len(found.queries)], vectors[len(found.queries) :]


def trained(tokens: int, store: str) -> Study:
    """The finished study of word vectors."""
    pretrain = {
        "recipe": "cbow",
        "objective": "cbow_negative_sampling",
        "budget": {"tokens": tokens},
    }
    fields = {
        "name": "retrieval-index",
        "question": "What do indexes lose?",
        "extends": str(BASE),
        "pretrain": pretrain,
        "seeds": {"pretrain": 1, "finetune": 1},
        "evaluate": {"suite": "retrieval-v1", "protocol": {"pooling": "mean"}},
    }
    return harness.declare(fields, store=store).run()


def made_index(index: AnyIndex | None, documents: np.ndarray) -> Any:
    """An index of FAISS; null: an exact one."""
    if index is not None:
        return built(index, documents)
    made = faiss.IndexFlatIP(documents.shape[1])
    made.add(documents)
    return made


def measure(vectors: Vectors, found: Collection, dev: Examples, repeats: int) -> dict[str, Any]:
    """Index to scores, share of the nearest that it finds, and seconds."""
    queries, documents = vectors
    built_in = {n: common.timed(partial(made_index, one, documents)) for n, one in INDEXES.items()}
    made = {name: index for name, (_, index) in built_in.items()}
    calls = {name: partial(index.search, queries, AT) for name, index in made.items()}
    systems = {name: partial(common.seconds, call) for name, call in calls.items()}
    spent = common.measure_in_turns(systems, repeats)
    listed = {name: call()[1] for name, call in calls.items()}
    wanted = listed["exact"]
    return {
        name: {
            **scores(listed[name], vectors, found, dev),
            "recall_of_exact": share_found(listed[name], wanted),
            "build_seconds": round(built_in[name][0], 3),
            "search_seconds": [round(value, 4) for value in spent[name]],
            "times_as_fast": round(common.median_ratio(spent, "exact", name), 2),
        }
        for name in INDEXES
    }


def scores(
    listed: np.ndarray, vectors: Vectors, found: Collection, dev: Examples
) -> Mapping[str, float]:
    """Metric to score of lists of documents."""
    places = listed_places(listed, vectors, found, AT)
    names = TASK.metrics
    return {name: round(METRICS[name](dev.labels, places, dev.groups), 4) for name in names}


def share_found(listed: np.ndarray, wanted: np.ndarray) -> float:
    """Mean share of `wanted` [Q, K] that is in `listed` [Q, K]."""
    return round(float((wanted[:, :, None] == listed[:, None, :]).any(2).mean()), 4)


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    rows = []
    for one in figures["collections"]:
        for name, given in one["indexes"].items():
            seconds = statistics.median(given["search_seconds"])
            metrics = [
                f"{100 * given[metric]:.1f}" for metric in (*TASK.metrics, "recall_of_exact")
            ]
            times = (
                f"{given['build_seconds']:.2f}",
                f"{seconds:.4f}",
                f"{given['times_as_fast']:.1f} x",
            )
            rows.append([one["vectors"], f"{one['documents']:,}", name, *metrics, *times])
    chosen, machine = figures["settings"], figures["machine"]
    setting = (
        f"{figures['queries']:,} questions of SQuAD's dev set, the first {AT} documents of each. "
        "The fewer documents are the paragraphs of SQuAD's dev and train set in the data at hand, "
        "the more are these and passages of WikiText-2. Vectors of "
        f"width {WIDTH}: LSA, and the mean of word vectors (CBOW, {chosen['tokens']:,} tokens of "
        f"WikiText-2). Recall of exact is the share of the {AT} nearest that an index finds. "
        "Seconds are those of building (once), and of searching for all questions, median of "
        f"{chosen['repeats']} turns, in one thread of a machine with other work: only the last "
        "column, the median ratio to exact search in the same turn, compares. "
        f"{machine['processor']}, FAISS {machine['faiss-cpu']}."
    )
    head = ("vectors", "documents", "index", "nDCG@10", "MRR@10", "recall@5", "recall of exact",
            "build s", "search s", "exact / it")  # fmt: skip
    title = "Approximate indexes of documents"
    return common.markdown(__file__, title, setting, head, rows, num_text_columns=3)


def main() -> None:
    """Measures and writes the figures."""
    defaults: dict[str, int | str] = {"repeats": 5, "tokens": 4_000_000, "store": "runs"}
    arguments = common.parse_arguments(__doc__, "retrieval_index", **defaults)
    study = trained(arguments.tokens, arguments.store)
    faiss.omp_set_num_threads(1)
    dev, sets = collections()
    kinds: dict[str, Callable[[Collection], Vectors]] = {
        "LSA": lsa,
        "word vectors": partial(word_vectors, study),
    }
    given = [
        {
            "vectors": kind,
            "texts": name,
            "documents": len(found.documents),
            "indexes": measure(make(found), found, dev, arguments.repeats),
        }
        for kind, make in kinds.items()
        for name, found in sets.items()
    ]
    kept = {name: value for name, value in common.settings(arguments).items() if name != "store"}
    figures = {
        "settings": kept,
        "machine": common.machine("faiss-cpu", "numpy"),
        "queries": len(collection(dev).queries),
        "collections": given,
    }
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
