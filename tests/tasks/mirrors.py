"""Mirrors of Hub repositories, of invented texts: as a test gives them, or as the Hub has them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset, Features, List, Value

from harness.tasks.benchmarks.multilingual import PAWS_X_LANGUAGES, XNLI_LANGUAGES
from harness.tasks.judged_pairs import DOCUMENTS, QUERIES
from harness.tasks.load_examples import collection_of
from harness.tasks.task import HubData, Split, Task

Place = tuple[str, str | None]
"""Repository and config."""
TEXT, INT, FLOAT = Value("string"), Value("int32"), Value("float32")
TEXTS = List(TEXT)
NUM_ROWS = 6


class Mirror:
    """Writes configs of mirrors below a folder, as `HARNESS_DATA` names one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cards: dict[str, list[str]] = {}

    def write(
        self,
        path: str,
        config: str | None,
        splits: Mapping[str, Mapping[str, Any]],
        features: Mapping[str, Any] | None = None,
    ) -> None:
        """One config, with the rows of each split."""
        name, folder = config or "default", self.root / path
        entries = []
        for split, rows in splits.items():
            typed = Features(dict(features)) if features else None
            file = folder / name / f"{split}-00000-of-00001.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            Dataset.from_dict(dict(rows), features=typed).to_parquet(file)
            entries.append(f"  - split: {split}\n    path: {name}/{split}-*\n")
        cards = self.cards.setdefault(path, [])
        cards.append(f"- config_name: {name}\n  data_files:\n{''.join(entries)}")
        (folder / "README.md").write_text(f"---\nconfigs:\n{''.join(cards)}---\n")

    def write_task(self, task: Task) -> None:
        """All data that the task reads, with the columns and types of its Hub repositories."""
        for (path, config), splits in _needed(task).items():
            features = HUB[path, config]
            rows = invented(features) | ROWS.get((path, config), {})
            self.write(path, config, dict.fromkeys(splits, rows), features)


def _needed(task: Task) -> dict[Place, list[str]]:
    assert isinstance(task.data, HubData)
    train = (Split(name=task.train),) if task.train else ()
    needed: dict[Place, list[str]] = {}
    for split in (*train, *task.evaluation, *task.test):
        config = split.config if split.path else split.config or task.data.config
        splits = needed.setdefault((split.path or task.data.path, config), [])
        if (split.of or split.name) not in splits:
            splits.append(split.of or split.name)
    collection = {(path, config): [str(config)] for path, config, _ in collection_of(task.data)}
    return needed | collection


def invented(features: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Rows of these types: every text names its column and row, every class occurs in turn."""
    return {
        name: [_cell(name, feature, row) for row in range(NUM_ROWS)]
        for name, feature in features.items()
    }


def _cell(name: str, feature: Any, row: int) -> Any:
    if isinstance(feature, dict):
        return {part: _cell(part, inner, row) for part, inner in feature.items()}
    if isinstance(feature, List):
        return [_cell(name, feature.feature, row + place) for place in range(3)]
    if isinstance(feature, ClassLabel):
        return row % feature.num_classes
    return f"{name} number {row}" if feature == TEXT else row


def _texts(*names: str, label: Any = None, **others: Any) -> dict[str, Any]:
    typed = dict.fromkeys(names, TEXT) | others
    return typed if label is None else typed | {"label": label}


def _classes(*names: str) -> ClassLabel:
    return ClassLabel(names=list(names))


BEIR = ("arguana", "fiqa", "nfcorpus", "scifact")
CODEXGLUE = "google/code_x_glue"
BOOLEAN = _classes("False", "True")
RTE = _classes("entailment", "not_entailment")
NLI = _classes("entailment", "neutral", "contradiction")
POLARITY = _classes("negative", "positive")
SPANS = {"text": TEXTS, "answer_start": List(INT)}
WRITTEN = {"text": TEXT, "tokens": TEXTS}
SUPERGLUE, SENTIMENT = "aps/super_glue", "uci/sentiment-labelled-sentences"
NER = "O B-PER I-PER B-ORG I-ORG B-LOC I-LOC B-MISC I-MISC".split()
CHUNKS = (
    "O B-ADJP I-ADJP B-ADVP I-ADVP B-CONJP I-CONJP B-INTJ I-INTJ B-LST I-LST B-NP I-NP B-PP I-PP "
    "B-PRT I-PRT B-SBAR I-SBAR B-UCP I-UCP B-VP I-VP"
).split()
POS = (
    "\" '' # $ ( ) , . : `` CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS NN|SYM PDT POS PRP "
    "PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB"
).split()

# Columns and types, as the Hub's data set cards have them.
HUB: dict[Place, dict[str, Any]] = {
    ("nyu-mll/glue", "cola"): _texts("sentence", label=_classes("unacceptable", "acceptable")),
    ("nyu-mll/glue", "sst2"): _texts("sentence", label=POLARITY),
    ("nyu-mll/glue", "mrpc"): _texts(
        "sentence1", "sentence2", label=_classes("not_equivalent", "equivalent")
    ),
    ("nyu-mll/glue", "qqp"): _texts(
        "question1", "question2", label=_classes("not_duplicate", "duplicate")
    ),
    ("nyu-mll/glue", "stsb"): _texts("sentence1", "sentence2", label=FLOAT),
    ("nyu-mll/glue", "mnli"): _texts("premise", "hypothesis", label=NLI),
    ("nyu-mll/glue", "ax"): _texts("premise", "hypothesis", label=NLI),
    ("nyu-mll/glue", "qnli"): _texts("question", "sentence", label=RTE),
    ("nyu-mll/glue", "rte"): _texts("sentence1", "sentence2", label=RTE),
    ("nyu-mll/glue", "wnli"): _texts(
        "sentence1", "sentence2", label=_classes("not_entailment", "entailment")
    ),
    (f"{CODEXGLUE}_cc_defect_detection", None): _texts(
        *("func", "project", "commit_id"), id=INT, target=Value("bool")
    ),
    (f"{CODEXGLUE}_cc_clone_detection_big_clone_bench", None): _texts(
        *("func1", "func2"), id=INT, id1=INT, id2=INT, label=Value("bool")
    ),
    (f"{CODEXGLUE}_ct_code_to_text", "python"): _texts(
        *("repo", "path", "func_name", "original_string", "language", "code", "docstring"),
        *("sha", "url"),
        id=INT,
        code_tokens=TEXTS,
        docstring_tokens=TEXTS,
    ),
    (SUPERGLUE, "boolq"): _texts("question", "passage", label=BOOLEAN),
    (SUPERGLUE, "cb"): _texts(
        "premise", "hypothesis", label=_classes("entailment", "contradiction", "neutral")
    ),
    (SUPERGLUE, "copa"): _texts(
        *("premise", "choice1", "choice2", "question"), label=_classes("choice1", "choice2")
    ),
    (SUPERGLUE, "multirc"): _texts(
        *("paragraph", "question", "answer"),
        idx={"paragraph": INT, "question": INT, "answer": INT},
        label=BOOLEAN,
    ),
    (SUPERGLUE, "record"): _texts(
        "passage", "query", entities=TEXTS, answers=TEXTS, idx={"passage": INT, "query": INT}
    ),
    (SUPERGLUE, "rte"): _texts("premise", "hypothesis", idx=INT, label=RTE),
    (SUPERGLUE, "axb"): _texts("sentence1", "sentence2", idx=INT, label=RTE),
    (SUPERGLUE, "axg"): _texts("premise", "hypothesis", idx=INT, label=RTE),
    (SUPERGLUE, "wic"): _texts(
        *("word", "sentence1", "sentence2"),
        **dict.fromkeys(("start1", "start2", "end1", "end2"), INT),
        label=BOOLEAN,
    ),
    (SUPERGLUE, "wsc"): _texts(
        *("text", "span1_text", "span2_text"), span1_index=INT, span2_index=INT, label=BOOLEAN
    ),
    ("allenai/swag", "regular"): _texts(
        *("video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source"),
        *("ending0", "ending1", "ending2", "ending3"),
        label=_classes("0", "1", "2", "3"),
    ),
    ("allenai/openbookqa", "main"): _texts(
        "id", "question_stem", "answerKey", choices={"text": TEXTS, "label": TEXTS}
    ),
    ("rajpurkar/squad", "plain_text"): _texts("id", "title", "context", "question", answers=SPANS),
    ("rajpurkar/squad_v2", "squad_v2"): _texts("id", "title", "context", "question", answers=SPANS),
    ("stanfordnlp/snli", "plain_text"): _texts("premise", "hypothesis", label=NLI),
    ("SetFit/sst5", None): _texts("text", "label_text", label=Value("int64")),
    ("jhu-cogsci/hans", "plain_text"): _texts(
        *("premise", "hypothesis", "heuristic", "subcase", "template"),
        label=_classes("entailment", "non-entailment"),
    ),
    ("lhoestq/conll2003", None): _texts(
        "id",
        tokens=TEXTS,
        pos_tags=List(_classes(*POS)),
        chunk_tags=List(_classes(*CHUNKS)),
        ner_tags=List(_classes(*NER)),
    ),
    ("universal-dependencies/universal_dependencies", "en_ewt"): {
        "tokens": TEXTS,
        "head": TEXTS,
    },
    ("ncbi/ncbi_disease", "ncbi_disease"): _texts(
        "id", tokens=TEXTS, ner_tags=List(_classes("O", "B-Disease", "I-Disease"))
    ),
    ("ontonotes/conll2012_ontonotesv5", "english_v4"): {
        "document_id": TEXT,
        "sentences": List(
            {
                "part_id": INT,
                "words": TEXTS,
                "srl_frames": List({"verb": TEXT, "frames": TEXTS}),
                "coref_spans": List(List(INT)),
            }
        ),
    },
    ("deepmind/narrativeqa", None): {
        "document": {"id": TEXT, "kind": TEXT, "summary": WRITTEN, "text": TEXT},
        "question": WRITTEN,
        "answers": List(WRITTEN),
    },
    ("sagnikrayc/mctest", "mc500"): _texts(
        *("story", "question", "answer"), answer_options=dict.fromkeys("ABCD", TEXT)
    ),
    ("dataset-org/dream", "plain_text"): _texts(
        *("dialogue_id", "question", "answer"), id=INT, dialogue=TEXTS, choice=TEXTS
    ),
    **{
        (SENTIMENT, name): _texts("sentence", label=POLARITY) for name in ("yelp", "imdb", "amazon")
    },
    **{
        (f"zapsdcn/{name}", None): _texts("text", "label")
        for name in ("chemprot", "citation_intent", "sciie", "hyperpartisan_news")
    },
    ("armanc/pubmed-rct20k", None): _texts("abstract_id", "label", "text", sentence_id=INT),
    ("fancyzhx/ag_news", None): _texts(
        "text", label=_classes("World", "Sports", "Business", "Sci/Tech")
    ),
    ("vannacute/AmazonReviewHelpfulness", None): _texts("text", "label"),
    ("stanfordnlp/imdb", "plain_text"): _texts("text", label=_classes("neg", "pos")),
    ("abisee/cnn_dailymail", "3.0.0"): _texts("article", "highlights", "id"),
    ("EdinburghNLP/xsum", None): _texts("document", "summary", "id"),
    ("wmt/wmt14", "de-en"): {"translation": {"de": TEXT, "en": TEXT}},
    ("wmt/wmt14", "fr-en"): {"translation": {"fr": TEXT, "en": TEXT}},
    ("wmt/wmt16", "ro-en"): {"translation": {"ro": TEXT, "en": TEXT}},
    ("bentrevett/multi30k", None): _texts("en", "de"),
    **{
        ("facebook/xnli", one): _texts("premise", "hypothesis", label=NLI) for one in XNLI_LANGUAGES
    },
    **{
        ("google-research-datasets/paws-x", one): {
            "id": INT,
            **_texts("sentence1", "sentence2", label=_classes("0", "1")),
        }
        for one in PAWS_X_LANGUAGES
    },
    **{
        (f"mteb/sts{year}-sts", None): _texts("sentence1", "sentence2", "subset", score=FLOAT)
        for year in range(12, 17)
    },
    ("mteb/stsbenchmark-sts", None): _texts("sentence1", "sentence2", score=Value("float64")),
    ("mteb/sickr-sts", None): _texts("sentence1", "sentence2", score=Value("float64")),
    **{
        (f"BeIR/{name}", config): _texts("_id", "title", "text")
        for name in BEIR
        for config in (DOCUMENTS, QUERIES)
    },
    **{
        (f"BeIR/{name}-qrels", None): {"query-id": TEXT, "corpus-id": TEXT, "score": INT}
        for name in BEIR
    },
}


def _in_turn(*values: Any) -> list[Any]:
    return [values[row % len(values)] for row in range(NUM_ROWS)]


# Columns whose values have to fit each other.
ROWS: dict[Place, dict[str, list[Any]]] = {
    (f"{CODEXGLUE}_cc_defect_detection", None): {"target": _in_turn(False, True)},
    (f"{CODEXGLUE}_cc_clone_detection_big_clone_bench", None): {"label": _in_turn(False, True)},
    (SUPERGLUE, "copa"): {"question": _in_turn("cause", "effect")},
    (SUPERGLUE, "record"): {
        "passage": _in_turn("Tove rang Oda , and Oda came ."),
        "answers": _in_turn(["Oda"], ["Tove", "Oda"]),
    },
    (SUPERGLUE, "wic"): {"end1": _in_turn(9), "end2": _in_turn(9)},  # after the starts 0 to 5
    (SUPERGLUE, "wsc"): {
        "text": _in_turn("The cup broke because it fell."),
        "span2_text": _in_turn("it"),
        "span2_index": _in_turn(4),
    },
    ("allenai/openbookqa", "main"): {
        "choices": _in_turn({"text": ["ice", "tin", "rye", "elm"], "label": list("ABCD")}),
        "answerKey": _in_turn(*"CAB"),
    },
    ("stanfordnlp/snli", "plain_text"): {"label": _in_turn(0, -1, 2)},
    ("SetFit/sst5", None): {"label": _in_turn(*range(5))},
    ("jhu-cogsci/hans", "plain_text"): {
        "heuristic": [*("lexical_overlap", "subsequence", "constituent") * 2],
        "label": [0, 0, 0, 1, 1, 1],
    },
    ("nyu-mll/glue", "mnli"): {
        "premise": _in_turn("A tin cup fell"),
        "hypothesis": _in_turn("a cup fell", "Tin fell.", "The cup fell"),
    },
    ("ontonotes/conll2012_ontonotesv5", "english_v4"): {
        "sentences": _in_turn(
            [
                {
                    "part_id": 0,
                    "words": "Oda rang Tove .".split(),
                    "srl_frames": [{"verb": "rang", "frames": ["B-ARG0", "B-V", "B-ARG1", "O"]}],
                    "coref_spans": [[0, 0, 0], [1, 2, 2]],
                },
                {
                    "part_id": 0,
                    "words": "She came .".split(),
                    "srl_frames": [{"verb": "came", "frames": ["B-ARG1", "B-V", "O"]}],
                    "coref_spans": [[1, 0, 0]],
                },
            ]
        )
    },
    ("universal-dependencies/universal_dependencies", "en_ewt"): {
        "tokens": _in_turn("Oda 's rang Oda 's".split(), ["Stop"]),
        "head": _in_turn(["3", "1", "0", "5", "3"], ["0"]),
    },
    ("sagnikrayc/mctest", "mc500"): {"answer": _in_turn(*"ABCD")},
    ("dataset-org/dream", "plain_text"): {
        "choice": _in_turn(["At noon.", "At six.", "Never."]),
        "answer": _in_turn("At six.", "Never.", "At noon."),
    },
    ("zapsdcn/chemprot", None): {"label": _in_turn("INHIBITOR", "SUBSTRATE_PRODUCT-OF")},
    ("zapsdcn/citation_intent", None): {"label": _in_turn("Background", "Uses")},
    ("zapsdcn/sciie", None): {"label": _in_turn("USED-FOR", "COMPARE")},
    ("zapsdcn/hyperpartisan_news", None): {"label": _in_turn("true", "false")},
    ("armanc/pubmed-rct20k", None): {"label": _in_turn("methods", "RESULTS")},
    ("vannacute/AmazonReviewHelpfulness", None): {"label": _in_turn("helpful", "unhelpful")},
    **{(f"BeIR/{name}", DOCUMENTS): {"_id": [*"abcdef"]} for name in BEIR},
    **{(f"BeIR/{name}", QUERIES): {"_id": [*"uvwxyz"]} for name in BEIR},
    **{
        (f"BeIR/{name}-qrels", None): {
            "query-id": _in_turn("u", "v"),
            "corpus-id": [*"abcabc"],
            "score": _in_turn(1, 2),
        }
        for name in BEIR
    },
}
