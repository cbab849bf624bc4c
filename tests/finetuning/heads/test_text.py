"""Text output: every kind of task, every generative representation, independence of the batch, and
equality of generation by transformers and the plain loop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.data.corpora import load_corpus
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer, training
from harness.data.tokenizers.schemes import SCHEMES
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads import task_head
from harness.finetuning.heads.text import TextOutput
from harness.finetuning.heads.text_codec import TextCodec, fit
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.heads.verbaliser import choice_of, source, tags_of, target, value_of
from harness.finetuning.inputs import Encoded
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, predict
from harness.models import MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.tasks.examples import Answers, Examples
from harness.tasks.task import Task
from harness.tasks.unlabelled import unlabelled

SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
NATIVE = [
    ("t5", "encoder_decoder"),
    ("t5_shared", "encoder_decoder"),
    ("t5_v1_1", "encoder_decoder"),
    ("bart", "encoder_decoder"),
    ("transformer", "encoder_decoder"),
    ("gpt", "causal"),
    ("gpt2", "causal"),
    ("llama", "causal"),
    *((name, "causal") for name in ("opt", "gpt_neo", "mistral", "qwen2", "gemma")),
]
OTHERS = [("gpt2", "prefix"), ("llama", "prefix"), ("t5", "causal"), ("bert", "causal")]
OTHERS += [("lstm", "causal")]
SUBWORDS = [name for name in SCHEMES if name not in ("word", "character")]
"""Algorithms that know the numbers of labels, and whose targets are short."""
Tok = Callable[[str], PreTrainedTokenizerFast]
SENTENCES = [
    "the plot was charming.",
    "who saw the axe?",
    "clara, the baker, saw the pig beside the hatchet.",
    "this bicycle is noisy.",
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tok:
    corpus = MicroworldCorpus(num_tokens=5_000)
    made: dict[str, PreTrainedTokenizerFast] = {}

    def make(algorithm: str) -> PreTrainedTokenizerFast:
        if algorithm not in made:
            folder = tmp_path_factory.mktemp(algorithm)
            value = Tokenizer.model_validate({"algorithm": algorithm, "vocab_size": 400})
            texts = (s for document in load_corpus.read_documents(corpus) for s in document)
            training.train(value, texts, folder)
            made[algorithm] = PreTrainedTokenizerFast.from_pretrained(folder)
        return made[algorithm]

    return make


def network(tok: PreTrainedTokenizerFast, family: str, read: str, std: float = 0.15) -> Backbone:
    wide = {"initializer_range": std, "max_position": 160, "dropout": 0, "attention_dropout": 0}
    if family.startswith("t5"):
        del wide["attention_dropout"]
    if family == "gemma":  # with its scaled embeddings as the output, it repeats the last token
        wide["tie_embeddings"] = False
    tokens = Tokens(len(tok), tok.pad_token_id, tok.cls_token_id, tok.sep_token_id)
    return build(MODELS[family].model_copy(update=wide), SIZE, tokens, read, 0)


def task_of(kind: str, **more: Any) -> Task:
    found: dict[str, Any] = {
        "name": "toy",
        "kind": kind,
        "data": {"source": "microworld", "generator": "toy"},
        "text_fields": ("first", "second"),
        "metrics": ("accuracy",),
    }
    return Task.model_validate(found | more)


def column(*values: Any) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        out[place] = value
    return out


PAIRS = [(SENTENCES[i], SENTENCES[(i + 1) % 4]) for i in range(4)]
TAGS = ("O", "B-PER", "I-PER")
CASES: dict[str, tuple[Task, Examples]] = {
    "classification": (
        task_of("classification", labels=("not_alike", "alike")),
        Examples(list(PAIRS), np.array([0, 1, 1, 0])),
    ),
    "regression": (
        task_of("regression"),
        Examples(list(PAIRS), np.array([0.2, 3.4, 1.0, 2.6])),
    ),
    "multiple_choice": (
        task_of("multiple_choice", choices_field="choices"),
        Examples(list(PAIRS), np.array([1, 0, 2, 1]), [("the axe.", "the pig.", "the baker.")] * 4),
    ),
    "extraction": (
        task_of("extraction"),
        Examples(
            list(PAIRS),
            column(
                Answers(("the axe",), (8,)),
                Answers((), ()),
                Answers(("noisy",), (16,)),
                Answers(("charming", "the plot"), (13, 0)),
            ),
        ),
    ),
    "tagging": (
        task_of("tagging", text_fields=("words",), labels=TAGS),
        Examples(
            [tuple(s.split()) for s in SENTENCES],
            column((0, 0, 0, 1), (0, 1, 2, 0), (1, 0, 0, 0, 0, 0, 0, 0, 2), (0, 1, 2, 1)),
        ),
    ),
    "generation": (
        task_of("generation", text_fields=("first",)),
        Examples([(s,) for s in SENTENCES], column(*((s, "other") for s in SENTENCES[::-1]))),
    ),
}
TEXT = Protocol(answer="text", max_sequence_length=80, max_target_length=40, head_dropout=0.0)


def right(kind: str, examples: Examples) -> list[Any]:
    """Labels as predictions."""
    if kind == "extraction":
        return [label.texts[0] if label.texts else "" for label in examples.labels]
    if kind == "generation":
        return [label[0] for label in examples.labels]
    return list(examples.labels)


def test_sources_and_targets() -> None:
    def words(kind: str, **more: Any) -> tuple[str, str]:
        task, examples = CASES[kind]
        task = task.model_copy(update=more)
        choices = examples.choices[0] if examples.choices else None
        parts = source(task, examples.texts[0], choices)
        return " ".join(parts), target(task, examples.labels[0], choices)

    first, second = PAIRS[0]
    assert words("classification") == (f"toy first: {first} second: {second}", "not alike")
    pattern = ("{word} in {first}", "second")
    assert words("classification", text_fields=pattern)[0] == f"toy {first} second: {second}"
    assert words("regression") == (f"toy first: {first} second: {second}", "0.2")
    assert words("multiple_choice") == (
        rf"{first} \n (a) the axe. (b) the pig. (c) the baker. \n {second}",
        "the pig.",
    )
    assert words("extraction") == (rf"{first} \n {second}", "the axe")
    assert words("tagging") == (f"toy: {first}", "O O O B-PER")
    assert words("generation") == (first, SENTENCES[-1])


def test_prompt_answers_replace_labels() -> None:
    prompt = {"pattern": "{first} it was {answer}", "answers": ("bad", "good")}
    task = task_of("classification", labels=("negative", "positive"), prompt=prompt)
    assert [target(task, label) for label in (0, 1, -1)] == ["bad", "good", ""]


def test_values() -> None:
    task = CASES["regression"][0]
    assert [target(task, v) for v in (3.29, 3.3001, 5.0)] == ["3.2", "3.4", "5.0"]
    assert [value_of(t) for t in ("3. 4", "5", "", "alike", "nan")] == [3.4, 5.0, -1.0, -1.0, -1.0]


def test_the_most_similar_choice() -> None:
    choices = ("the red axe.", "The pig.", "the blue pig")
    outputs = ["the pig.", "a blue pig", "the", "nothing"]
    assert [choice_of(text, choices) for text in outputs] == [1, 2, 1, 0]


def test_tags_are_padded_cut_and_parsed_longest_first() -> None:
    names = [(1,), (2,), (2, 3)]
    assert tags_of([2, 3, 2, 9, 1], names, 3) == (2, 1, 0)
    assert tags_of([2], names, 3) == (1, 0, 0)
    assert tags_of([2] * 9, names, 2) == (1, 1)
    assert tags_of([2], names, 3, missing=2) == (1, 2, 2)


def test_words_without_a_written_tag_are_outside_entities(tokenizer: Tok) -> None:
    """Wherever O is among the tags of an own task, as under an output layer."""
    task, examples = CASES["tagging"]
    task = task.model_copy(update={"labels": ("B-PER", "O")})
    head = TextOutput(task, Protocol(), tokenizer("wordpiece"))
    examples = unlabelled(task, examples.texts)
    nothing = head.predictions([[]] * len(examples), head.encode(examples), examples)
    assert all(set(tags) == {1} for tags in nothing)


def test_the_longest_part_is_cut_first() -> None:
    assert fit([[1, 1], [2] * 5, [3] * 3], 8) == ([1, 1, 2, 2, 2, 3, 3, 3], True)
    assert len(fit([[1, 1], [2] * 5, [3] * 3], 4)[0]) == 4
    assert fit([[1, 1], [2]], 3) == ([1, 1, 2], False)


@pytest.mark.parametrize("algorithm", SCHEMES)
def test_texts_survive_a_round_trip(tokenizer: Tok, algorithm: str) -> None:
    """Every sentence of the microworld, with the spacing on which BLEU is computed."""
    codec = TextCodec(tokenizer(algorithm))
    corpus = MicroworldCorpus(num_tokens=5_000)
    for document in load_corpus.read_documents(corpus):
        for sentence in document:
            assert codec.round_trip(sentence) == sentence


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("algorithm", SUBWORDS)
def test_targets_are_parsed_as_labels(tokenizer: Tok, algorithm: str, kind: str) -> None:
    task, examples = CASES[kind]
    head = task_head(task, TEXT, tokenizer(algorithm))
    assert isinstance(head, TextOutput)
    data = head.encode(examples)
    batch = head.collate(data, np.arange(4))
    assert batch["target_ids"].shape == batch["target_mask"].shape
    found = head.predictions(head.decode(batch["target_ids"], batch), data, examples)
    assert list(found) == right(kind, examples)


@pytest.mark.parametrize("algorithm", SUBWORDS)
def test_summaries_have_a_line_for_each_sentence(tokenizer: Tok, algorithm: str) -> None:
    text = "clara saw the axe.\nthe axe was good."
    task = task_of("generation", text_fields=("first",), metrics=("rouge1", "rougeLsum"))
    examples = Examples([("the plot",)], column((text,)))
    head = TextOutput(task, TEXT, tokenizer(algorithm))
    data = head.encode(examples)
    batch = head.collate(data, np.arange(1))
    assert head.predictions(head.decode(batch["target_ids"], batch), data, examples)[0] == text


def test_long_texts_are_truncated(tokenizer: Tok) -> None:
    task, examples = CASES["generation"]
    tok = tokenizer("wordpiece")
    head = TextOutput(task, Protocol(max_sequence_length=8, max_target_length=4), tok)
    data = head.encode(examples)
    assert data.truncated > 0 and max(data.input_ids.lengths) == 8
    assert isinstance(data.targets, type(data.input_ids))
    assert max(data.targets.lengths) == 4
    for row in (data.input_ids, data.targets):
        assert all(row[i][-1] == tok.sep_token_id for i in range(4))


def test_labels_with_equal_tokens_are_refused(tokenizer: Tok) -> None:
    task = task_of("classification", labels=("1", "2"))
    with pytest.raises(ValueError, match="same tokens for '1' and '2'"):
        TextOutput(task, TEXT, tokenizer("wordpiece"))


@pytest.mark.parametrize(
    ("family", "read", "kind"),
    [
        *(("t5", "encoder_decoder", kind) for kind in CASES),
        *(
            pytest.param(
                "gpt2", read, kind, marks=[pytest.mark.campaign] * (kind != "classification")
            )
            for read in ("causal", "prefix")
            for kind in CASES
        ),
    ],
)
def test_one_batch_is_memorised(
    tokenizer: Tok, tmp_path: Path, family: str, read: str, kind: str
) -> None:
    task, examples = CASES[kind]
    tok = tokenizer("wordpiece")
    head = task_head(task, TEXT, tok)
    network(tok, family, read, 0.02 if family == "t5" else 0.1).save(tmp_path)
    settings = Finetune(learning_rate=1e-2, batch_size=4, epochs=120)
    data = head.encode(examples)
    done = finetune(tmp_path, [TaskData(head, data)], settings, seed=0)
    assert done.losses[0] < 0.05
    assert list(predict(done.model.part(0), head, data, examples)) == right(kind, examples)


@torch.inference_mode()
@pytest.mark.parametrize(("family", "read"), NATIVE)
def test_generation_equals_transformers(tokenizer: Tok, family: str, read: str) -> None:
    model, batch = a_batch(tokenizer, family, read, 12)
    assert model.is_native
    mine, theirs = model.write_greedily(batch), model.write(batch)
    assert mine.shape == theirs.shape and torch.equal(mine, theirs)
    assert len({tuple(row) for row in mine.tolist()}) > 1


@torch.inference_mode()
@pytest.mark.parametrize(("family", "read"), NATIVE + OTHERS)
def test_neighbours_in_a_batch_change_nothing(tokenizer: Tok, family: str, read: str) -> None:
    model, batch = a_batch(tokenizer, family, read, 8)
    together = model.write(batch)
    assert torch.equal(together, model.write(batch))
    for i in range(len(together)):
        length = int(batch["attention_mask"][i].sum())
        one = {
            name: value[i : i + 1, :length]
            for name, value in batch.items()
            if not name.startswith("target")
        }
        alone = model.write(one)[0]
        assert torch.equal(together[i][: len(alone)], alone)
        assert (together[i][len(alone) :] == model.pad).all()


@torch.inference_mode()
@pytest.mark.parametrize(("family", "read"), NATIVE + OTHERS)
def test_greedy_decoding_equals_teacher_forcing(tokenizer: Tok, family: str, read: str) -> None:
    """Generated tokens are the argmax of the training outputs for the same target."""
    model, batch = a_batch(tokenizer, family, read, 6)
    target = model.write_greedily(batch)
    ends = (target == model.end).long().cumsum(1)
    mask = ((ends == 0) | ((ends == 1) & (target == model.end))).long()
    batch = batch | {"target_ids": target, "target_mask": mask}
    assert torch.equal(model(batch).argmax(-1), target[mask.bool()])


@torch.inference_mode()
@pytest.mark.parametrize(("family", "read"), NATIVE)
def test_beams_find_nothing_less_likely(tokenizer: Tok, family: str, read: str) -> None:
    greedy, batch = a_batch(tokenizer, family, read, 5)
    search, _ = a_batch(tokenizer, family, read, 5, num_beams=4)
    scores = [mean_log_probability(m, batch, m.write(batch)) for m in (greedy, search)]
    assert scores[1].mean() >= scores[0].mean() - 1e-4


def mean_log_probability(
    model: TextModel, batch: dict[str, Any], target: torch.Tensor
) -> torch.Tensor:
    ends = (target == model.end).long().cumsum(1)
    mask = ((ends == 0) | ((ends == 1) & (target == model.end))).long()
    logits = model(batch | {"target_ids": target, "target_mask": mask}).log_softmax(-1)
    nats = torch.zeros(target.shape)
    nats[mask.bool()] = logits.gather(1, target[mask.bool()][:, None])[:, 0]
    return nats.sum(1) / mask.sum(1)


def a_batch(
    tokenizer: Tok, family: str, read: str, most: int, num_beams: int = 1
) -> tuple[TextModel, dict[str, Any]]:
    """A generative network with random weights, and sources of different lengths."""
    tok = tokenizer("wordpiece")
    task, examples = CASES["generation"]
    head = TextOutput(task, Protocol(max_target_length=most, num_beams=num_beams), tok)
    model = head.make_model(network(tok, family, read).eval(), ADAPTATIONS["full"])
    assert isinstance(model, TextModel)
    return model, head.collate(head.encode(examples), np.arange(4))


@pytest.mark.parametrize(
    ("family", "read", "protocol", "adaptation", "message"),
    [
        ("bert", "bidirectional", {}, "full", "a bidirectional model does not generate text"),
        ("gpt2", "prefix", {"num_beams": 2}, "full", "num_beams must be 1 for a prefix gpt2"),
        ("gpt2", "causal", {}, "frozen", "a frozen model cannot learn; set"),
    ],
)
def test_unsupported_models_are_refused(
    tokenizer: Tok, family: str, read: str, protocol: dict[str, Any], adaptation: str, message: str
) -> None:
    tok = tokenizer("wordpiece")
    head = TextOutput(CASES["generation"][0], Protocol(**protocol), tok)
    with pytest.raises(ValueError, match=message):
        head.make_model(network(tok, family, read), ADAPTATIONS[adaptation])


def test_encoded_targets_are_kept(tokenizer: Tok, tmp_path: Path) -> None:
    task, examples = CASES["tagging"]
    data = TextOutput(task, TEXT, tokenizer("wordpiece")).encode(examples)
    data.save(tmp_path / "data.npz")
    again = Encoded.load(tmp_path / "data.npz")
    assert isinstance(again.targets, type(data.input_ids))
    assert isinstance(data.targets, type(data.input_ids))
    assert np.array_equal(again.targets.values, data.targets.values)


@pytest.mark.parametrize("kind", CASES)
def test_examples_need_no_labels(tokenizer: Tok, kind: str) -> None:
    task, labelled = CASES[kind]
    tok = tokenizer("wordpiece")
    head = task_head(task, TEXT, tok)
    model = head.make_model(network(tok, "t5", "encoder_decoder"), ADAPTATIONS["full"])
    examples = unlabelled(task, labelled.texts, labelled.choices)
    first, second = (predict(model, head, head.encode(one), one) for one in (labelled, examples))
    assert first.tolist() == second.tolist()
