"""Probes of saved models: gaps found in text, values by hand, unsupported models, the way
from an experiment to its report."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

import harness
import harness.experiment
import harness.models.build
from harness.data.corpora import load_corpus
from harness.data.corpora.mixing import Document
from harness.data.corpora.sentence_encoder import SentenceEncoder
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer, training
from harness.data.tokenizers.schemes import SCHEMES
from harness.models import Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.likelihood import log_likelihoods
from harness.pretraining.scoring.probing import _texts, probe
from harness.pretraining.scoring.requests import Text
from harness.tasks.probes import PROBES
from harness.tasks.probes.items import ClozeItem, MinimalPair, load_items

SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=64)
Algorithm = str
Tok = Callable[[Algorithm], Path]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tok:
    """Folder of a tokenizer of the embedded world, by algorithm."""
    corpus = MicroworldCorpus(num_tokens=5_000)
    made: dict[str, Path] = {}

    def make(algorithm: str) -> Path:
        if algorithm not in made:
            made[algorithm] = tmp_path_factory.mktemp(algorithm)
            value = Tokenizer.model_validate({"algorithm": algorithm, "vocab_size": 400})
            texts = (s for document in load_corpus.read_documents(corpus) for s in document)
            training.train(value, texts, made[algorithm])
        return made[algorithm]

    return make


def saved(folder: Path, tokenizer: Path, family: str, objective: str) -> Path:
    """A network with random weights, saved as if trained on an objective."""
    words = Vocabulary.load(tokenizer)
    pretrained = OBJECTIVES[objective].components[-1][1]
    tokens = Tokens(words.size, words.pad, words.cls, words.sep)
    architecture = Architecture.model_validate({"family": family, "initializer_range": 0.3})
    backbone = build(architecture, SIZE, tokens, pretrained.representation, seed=0)
    backbone.objective = pretrained.model_dump(mode="json")
    folder.mkdir(exist_ok=True)
    backbone.save(folder)
    return folder


@pytest.mark.parametrize("algorithm", sorted(SCHEMES.keys() - {"word"}))  # unknown candidates
def test_gaps_hold_the_candidate_and_nothing_else(tokenizer: Tok, algorithm: str) -> None:
    splitter = PreTrainedTokenizerFast.from_pretrained(tokenizer(algorithm))
    for item in load_items(PROBES["micro-cloze"])[::37]:
        assert isinstance(item, ClozeItem)
        for text, candidate in zip(_texts(item, splitter), item.candidates, strict=True):
            assert text.gap
            begin, end = text.gap
            assert splitter.decode(text.tokens[begin:end]).strip() == candidate
            before = splitter(item.before, add_special_tokens=False)["input_ids"]
            assert begin in (len(before), len(before) - 1)  # a space may be a token


@torch.no_grad()
def test_minimal_pairs_by_hand(tmp_path: Path, tokenizer: Tok) -> None:
    """With transformers' own loss, pair by pair."""
    folder = tokenizer("wordpiece")
    model = saved(tmp_path / "model", folder, "gpt2", "clm")
    found = probe(model, folder, "micro-blimp")
    splitter = PreTrainedTokenizerFast.from_pretrained(folder)
    network = harness.models.build.load(model).network.eval()

    def score(sentence: str) -> float:
        ids = torch.tensor([splitter(sentence)["input_ids"]])
        return -float(network(ids, labels=ids).loss) * (ids.shape[1] - 1)

    items = load_items(PROBES["micro-blimp"])
    assert list(found.items["index"]) == list(range(len(items)))
    for number in range(0, len(items), 100):
        item, (good, bad) = items[number], found.items["scores"][number]
        assert isinstance(item, MinimalPair)
        assert found.items["category"][number] == item.category
        assert (good, bad) == pytest.approx((score(item.good), score(item.bad)), abs=1e-3)
    right = np.array([good > bad for good, bad in found.items["scores"]])
    of_one = found.items["category"] == "irregular_forms"
    assert found.accuracies["irregular_forms"] == pytest.approx(right[of_one].mean())
    by_category = [found.accuracies[name] for name in PROBES["micro-blimp"].categories]
    assert found.accuracies["overall"] == pytest.approx(np.mean(np.array(by_category, float)))


@pytest.mark.parametrize("algorithm", ["wordpiece", "byte_bpe"])
def test_names_of_special_tokens_are_text_as_in_pretraining(
    tmp_path: Path, tokenizer: Tok, algorithm: str
) -> None:
    folder = tokenizer(algorithm)
    model = saved(tmp_path / "model", folder, "gpt2", "clm")
    item = MinimalPair("a [MASK] </s> and <s> [SEP]", "a <unk> and [UNK]", "irregular_forms")
    found = probe(model, folder, "micro-blimp", lambda _: [item])
    encoder = SentenceEncoder(folder)
    documents = [Document([sentence], False) for sentence in (item.good, item.bad)]
    encoded = encoder.documents(documents, encoder.encodings(documents))
    texts = [Text(tuple(document.tokens.tolist())) for document in encoded]
    expected = log_likelihoods(harness.models.build.load(model), Vocabulary.load(folder), texts)
    assert found.items["scores"][0] == pytest.approx(list(expected), abs=1e-3)


def test_cloze_takes_the_likeliest_candidate(tmp_path: Path, tokenizer: Tok) -> None:
    folder = tokenizer("wordpiece")
    found = probe(saved(tmp_path / "model", folder, "bert", "mlm"), folder, "micro-cloze")
    right = found.items["scores"].map(np.argmax) == found.items["answer"]
    for category, chosen in right.groupby(found.items["category"]):
        assert found.accuracies[str(category)] == pytest.approx(chosen.mean())
    assert set(found.items["scores"].map(len)) == {2, 4}


@pytest.mark.parametrize(
    ("family", "objective", "why"),
    [
        ("electra", "rtd", "replaced tokens"),
        ("bart", "deshuffling", "without gaps"),
        ("majority", "mlm", "no network"),
    ],
)
def test_unsupported_models_have_no_accuracies_but_a_reason(
    tmp_path: Path, tokenizer: Tok, family: str, objective: str, why: str
) -> None:
    folder = tokenizer("wordpiece")
    found = probe(saved(tmp_path / "model", folder, family, objective), folder, "micro-cloze")
    assert why in found.unsupported_reason and found.items.empty
    assert set(found.accuracies) == {*PROBES["micro-cloze"].categories, "overall"}
    assert set(found.accuracies.values()) == {None}


EXPERIMENT = """
name: probed
question: Do models say what is likelier?
pretrain:
  size: nano
  corpus: {source: microworld, num_tokens: 100_000}
  tokenizer: {vocab_size: 1_000}
  phases: [{fraction: 1, sequence_length: 32}]
  batch_size: 16
  optimizer: {learning_rate: 3e-3}
  schedule: {warmup_fraction: 0.06}
  packing: {format: full_sentences}
  budget: {steps: 400}
grid:
  arm:
    causal:
      pretrain.model: {family: gpt2, dropout: 0, attention_dropout: 0, initializer_range: 0.1}
      pretrain.objective: clm
    replaced:
      pretrain.model: {family: electra}
      pretrain.objective: rtd
      pretrain.budget.steps: 1
evaluate:
  tasks: [micro-sst2]
  probes: [micro-blimp, micro-cloze]
  protocol: {max_train_examples: 20}
  finetune: {epochs: 1}
"""


def test_the_whole_way(tmp_path: Path) -> None:
    """A few hundred updates teach a small decoder more than chance."""
    path = tmp_path / "probed.yaml"
    path.write_text(EXPERIMENT)
    study = harness.load(path, store=tmp_path / "runs").run(executor="serial")
    assert not study.last_run.failed
    assert len(study.plan.probe_runs) == 4
    frame = study.probes()
    overall = frame[frame["category"] == "overall"].set_index(["arm", "probe"])
    assert overall["score"]["causal", "micro-blimp"] > 0.6
    assert overall["score"]["causal", "micro-cloze"] > PROBES["micro-cloze"].chance + 0.1
    silent = frame[frame["arm"] == "replaced"]
    assert (
        silent["score"].isna().all() and silent["unsupported_reason"].str.contains("replaced").all()
    )
    own = frame[frame["arm"] == "causal"].groupby("category").first()
    assert own["items"]["verb"] == 200 and own["chance"]["verb"] == pytest.approx(1 / 4)
    study.write_report(tmp_path / "report")
    for name in ("README.md", "index.html"):
        text = (tmp_path / "report" / name).read_text()
        assert "Probes" in text and "trained to detect replaced tokens" in text
        assert f"{100 * overall['score']['causal', 'micro-cloze']:.1f}" in text


@pytest.mark.parametrize(
    ("probes", "said"),
    [(["micro-blmp"], "did you mean 'micro-blimp'"), (["blimp", "blimp"], "given twice")],
)
def test_unknown_probes_are_refused(probes: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        harness.experiment.evaluation.Evaluate.read({"probes": probes})
