"""Instruction and preference tuning: targets and losses against transformers, TRL and by hand;
what both teach."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.data.corpora import load_corpus
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer, training
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.prompt_answers import (
    Preferences,
    PreferredAnswers,
    PromptAnswers,
    preference_loss,
)
from harness.finetuning.multitask import TaskData
from harness.finetuning.prompt_data import prompt_data
from harness.finetuning.prompt_training import InstructionTuning, PreferenceTuning
from harness.finetuning.prompting import Prompter, prompted
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import Finetuned, finetune, predict, prepared_model
from harness.models import Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.likelihood import log_likelihoods
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.load_examples import load_examples
from harness.tasks.task import Task

FULL = ADAPTATIONS["full"]
PROTOCOL = Protocol(max_sequence_length=48)
SIZE = Size(num_layers=1, hidden_size=32, num_heads=2, intermediate_size=64)
NOUNS = ("plot", "axe", "pig", "film", "hatchet", "bicycle")
EXAMPLES = Examples(
    [(f"the {a} is noisy.", f"the {b} is in it.") for a in NOUNS for b in NOUNS[:2]],
    np.arange(12) % 3,
)
WORDS = ("then", "so", "not the")
"""Answers of one and of several tokens."""
NETWORKS = [
    ("gpt2", "clm"),
    ("lstm", "clm"),
    ("gpt2", "prefix_lm"),
    ("t5", "span_corruption"),
    ("bart", "denoising"),
]
Saved = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    texts = load_corpus.read_documents(MicroworldCorpus(num_tokens=5_000))
    value = {"algorithm": "wordpiece", "vocab_size": 420, "sentinels": 8}
    sentences = (sentence for document in texts for sentence in document)
    training.train(Tokenizer.model_validate(value), sentences, folder)
    return folder


@pytest.fixture(scope="module")
def tok(tokenizer: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast.from_pretrained(tokenizer)


@pytest.fixture(scope="module")
def saved(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """A network with random weights, saved as if trained on an objective."""
    made: dict[tuple[str, str], Path] = {}

    def make(family: str, objective: str) -> Path:
        if (family, objective) not in made:
            trained = trained_on(family, objective)
            words = Vocabulary.load(tokenizer)
            tokens = Tokens(words.size, words.pad, words.cls, words.sep)
            fields: dict[str, Any] = {"family": family, "initializer_range": 0.2}
            architecture = Architecture.model_validate(fields)
            backbone = build(architecture, SIZE, tokens, trained.representation, seed=0)
            backbone.objective = trained.model_dump(mode="json")
            folder = made[family, objective] = tmp_path_factory.mktemp("model")
            backbone.save(folder)
        return made[family, objective]

    return make


def trained_on(family: str, objective: str) -> Objective:
    trained = OBJECTIVES[objective].components[-1][1]
    read = {"clm": "causal", "prefix_lm": "prefix"}.get(objective, trained.representation)
    return trained.model_copy(update={"representation": read})


def task_of(pattern: str = "{first} {answer} {second}") -> Task:
    return Task.model_validate(
        {
            "name": "toy",
            "kind": "classification",
            "data": {"source": "microworld", "generator": "toy"},
            "text_fields": ("first", "second"),
            "labels": ("a", "b", "c"),
            "prompt": {"pattern": pattern, "answers": WORDS},
            "metrics": ("accuracy",),
        }
    )


def answers(tok: Any, task: Task, objective: str, family: str = "gpt2") -> PromptAnswers:
    return PromptAnswers(task, PROTOCOL, tok, trained_on(family, objective))


def preferences(tok: Any, objective: str, seed: int = 0) -> PreferredAnswers:
    return PreferredAnswers(task_of(), PROTOCOL, tok, trained_on("gpt2", objective), 0.1, seed)


@pytest.mark.parametrize(
    ("objective", "source", "target", "scored"),
    [
        ("clm", "[CLS] the axe is noisy.", "so the pig is in it. [SEP]", "all"),
        ("prefix_lm", "[CLS] the axe is noisy. [SEP]", "so the pig is in it. [SEP]", "all"),
        ("span_corruption", "[CLS] the axe is noisy. <0> the pig is in it. [SEP]", "<0> so", "so"),
        (
            "denoising",
            "[CLS] the axe is noisy. [MASK] the pig is in it. [SEP]",
            "the axe",
            "so the",
        ),
    ],
)
def test_the_loss_is_on_the_answer_and_what_follows(
    tok: Any, objective: str, source: str, target: str, scored: str
) -> None:
    """No token before the answer has a loss; a network that fills gaps has it on the answer and
    the token that ends it."""
    examples = Examples([("the axe is noisy.", "the pig is in it.")], np.array([1]))
    head = answers(tok, task_of(), objective)
    data = head.encode(examples)
    batch = head.collate(data, np.array([0]))

    def written(ids: Any) -> str:
        return " ".join(tok.decode(ids, clean_up_tokenization_spaces=False).split()).lower()

    sentinels = {tok.convert_ids_to_tokens(int(i)): "<0>" for i in head.vocabulary.sentinels[:1]}

    def plain(text: str) -> str:
        for name, value in sentinels.items():
            text = text.replace(name.lower(), value)
        return text.replace(" .", ".")

    assert plain(written(batch["input_ids"][0])) == source.lower()
    assert plain(written(batch["target_ids"][0])).startswith(target.lower())
    found = plain(written(batch["target_ids"][0][batch["scored"][0]]))
    assert found == (target.lower() if scored == "all" else found) and found.startswith("so")
    assert scored == "all" or int(batch["scored"].sum()) == 2


@pytest.mark.parametrize("pattern", ["{first} {answer} {second}", "{first} {second} {answer}"])
def test_the_loss_is_that_of_transformers(tok: Any, saved: Saved, pattern: str) -> None:
    """With labels of -100 before the answer, text by text."""
    model, task = saved("gpt2", "clm"), task_of(pattern)
    head = answers(tok, task, "clm")
    data = head.encode(EXAMPLES)
    batch = head.collate(data, np.arange(len(EXAMPLES)))
    network, sums, counts = load(model).network.eval(), 0.0, 0
    for texts, label in zip(EXAMPLES.texts, EXAMPLES.labels, strict=True):
        fields = dict(zip(("first", "second"), texts, strict=True))
        before = pattern.partition(" {answer}")[0].format(**fields)
        whole = tok(pattern.format(answer=WORDS[label], **fields))["input_ids"]
        given = len(tok(before)["input_ids"]) - 1
        labels = torch.tensor([[-100] * given + whole[given:]])
        number = len(whole) - given
        with torch.no_grad():
            loss = network(torch.tensor([whole]), labels=labels).loss
        sums, counts = sums + float(loss) * number, counts + number
    made = prepared_model(model, head, FULL, 0, Finetune()).eval()
    with torch.no_grad():
        assert float(head.loss(made(batch), batch)) == pytest.approx(sums / counts, rel=1e-5)


@pytest.mark.parametrize(("family", "objective"), NETWORKS)
def test_likelihoods_are_those_of_prompting(
    tokenizer: Path, tok: Any, saved: Saved, family: str, objective: str
) -> None:
    """The difference between two answers is that by which a prompted network chooses."""
    model, task = saved(family, objective), task_of()
    head = PreferredAnswers(task, PROTOCOL, tok, trained_on(family, objective), 0.1, 0)
    made = prepared_model(model, head, FULL, 0, Finetune())
    found = predict(made, head, head.encode(EXAMPLES), EXAMPLES)
    assert task.prompt
    prompter = Prompter(task, task.prompt, tok, PROTOCOL.max_sequence_length - 2)
    backbone, vocabulary = load(model), Vocabulary.load(tokenizer)
    for row, label in enumerate(EXAMPLES.labels):
        texts = prompter.texts(EXAMPLES, row)
        shown = [texts[answer] for answer in head.shown(int(label), len(texts), row)]
        expected = log_likelihoods(backbone, vocabulary, shown)
        assert found[row, 0] - found[row, 1] == pytest.approx(
            expected[0] - expected[1], rel=1e-6, abs=1e-4
        )


def test_the_wrong_answer_is_drawn_by_its_seed(tok: Any) -> None:
    drawn = {
        seed: [
            preferences(tok, "clm", seed).shown(int(label), 3, row)
            for row, label in enumerate(EXAMPLES.labels)
        ]
        for seed in (0, 1)
    }
    for pairs in drawn.values():
        assert [pair[0] for pair in pairs] == EXAMPLES.labels.tolist()
        assert all(pair[0] != pair[1] for pair in pairs)
    assert drawn[0] != drawn[1]
    wrong = [preferences(tok, "clm").shown(1, 3, row)[1] for row in range(300)]
    assert np.mean(wrong) == pytest.approx(1, abs=4 / math.sqrt(300)) and set(wrong) == {0, 2}
    with pytest.raises(ValueError, match="a wrong answer, but example 7 of toy has none"):
        preferences(tok, "clm").shown(0, 1, 7)


def test_the_preference_loss_is_equation_7() -> None:
    """By hand; at the start the loss is log 2."""
    found = torch.tensor([[-1.0, -3.0], [-4.0, -2.0]])
    reference = torch.tensor([[-2.0, -2.5], [-4.0, -3.0]])
    margins = [0.5 * ((-1 + 2) - (-3 + 2.5)), 0.5 * ((-4 + 4) - (-2 + 3))]
    expected = -np.mean([math.log(1 / (1 + math.exp(-margin))) for margin in margins])
    assert float(preference_loss(found, reference, 0.5)) == pytest.approx(expected)
    assert float(preference_loss(found, found, 0.5)) == pytest.approx(math.log(2))


def test_the_preference_loss_is_that_of_trl() -> None:
    """TRL's own code, where it is installed, on the same log-likelihoods: answers of one token, the
    chosen ones first."""
    trainer = pytest.importorskip("trl.trainer.dpo_trainer").DPOTrainer
    found, reference = -torch.rand(5, 2), -torch.rand(5, 2)
    fields: dict[str, Any] = {
        "beta": 0.3,
        "loss_types": ["sigmoid"],
        "loss_weights": [1.0],
        "f_divergence_type": "reverse_kl",
        "precompute_ref_logps": True,
        "ld_alpha": None,
        **dict.fromkeys(("aux_loss_enabled", "use_weighting"), False),
        "_total_train_tokens": 0,
        "_tp_size": 1,
    }
    own = MagicMock(**fields)
    own.accelerator.gather_for_metrics = own.accelerator.gather = lambda value: value
    tokens = found.T.reshape(-1, 1)
    outputs = MagicMock(log_probs=tokens, entropy=tokens, mean_logits=tokens, is_top1=tokens > 0)
    ones = torch.ones(10, 2, dtype=torch.long)
    inputs = {
        "input_ids": ones,
        "attention_mask": ones,
        "completion_mask": torch.tensor([[0, 1]] * 10),
        "ref_chosen_logps": reference[:, 0],
        "ref_rejected_logps": reference[:, 1],
    }
    loss = trainer._compute_loss(own, lambda **_: outputs, inputs, False)
    assert float(loss) == pytest.approx(float(preference_loss(found, reference, 0.3)), rel=1e-5)


def trained(model: Path, data: list[TaskData], **settings: Any) -> Finetuned:
    given = {"learning_rate": 3e-3, "epochs": 1, "batch_size": 8, **settings}
    return finetune(model, data, Finetune(**given), seed=0)


def test_training_is_a_function_of_its_seed(tokenizer: Path, saved: Saved) -> None:
    model, parts = saved("gpt2", "clm"), [(task_of(), EXAMPLES)]
    for content in (
        InstructionTuning(tasks=("toy",)).content,
        PreferenceTuning(tasks=("toy",)).content,
    ):
        runs = [
            trained(model, prompt_data(model, tokenizer, parts, PROTOCOL, content, "32-true"))
            for _ in range(2)
        ]
        weights = [run.model.state_dict() for run in runs]
        assert all(torch.equal(w, weights[1][name]) for name, w in weights[0].items())


@pytest.mark.parametrize(("family", "objective"), NETWORKS)
def test_preferences_raise_the_margin(
    tokenizer: Path, saved: Saved, family: str, objective: str
) -> None:
    """The chosen answers of a batch gain on the rejected ones. The loss begins at log 2, as there
    is no dropout."""
    model, content = saved(family, objective), PreferenceTuning(tasks=("toy",)).content
    (task,) = prompt_data(model, tokenizer, [(task_of(), EXAMPLES)], PROTOCOL, content, "32-true")
    assert isinstance(task.train, Preferences) and task.train.reference.shape == (12, 2)
    run = trained(model, [task], epochs=60, batch_size=12, learning_rate=3e-3)
    after = predict(run.model.part(0), task.head, task.train, EXAMPLES)
    margins = (after - task.train.reference) @ np.array([1, -1])
    assert margins.mean() > 0.5 and (margins > 0).mean() > 0.7
    first = trained(model, [task], epochs=1, batch_size=12)
    assert first.losses[0] == pytest.approx(math.log(2), abs=1e-4)


def test_instruction_tuning_teaches_unseen_examples(
    tokenizer: Path, saved: Saved, tmp_path: Path
) -> None:
    """Prompted on examples that it was not tuned on, a tuned network beats the untuned one, and
    so it does after preferences."""
    model, parts = saved("gpt2", "clm"), []
    for name in ("micro-sst2", "micro-food-to-film"):
        parts.append((TASKS[name], load_examples(TASKS[name], "train").head(800)))
    task, examples = parts[0]
    held_out = examples.take(np.arange(500, len(examples)))
    parts = [(one, rows.head(500)) for one, rows in parts]

    def accuracy(folder: Path) -> float:
        predict = prompted(folder, tokenizer, task, PROTOCOL, None, 0)
        return float((predict(held_out) == held_out.labels).mean())

    scores, start = [accuracy(model)], model
    for number, kind in enumerate((InstructionTuning, PreferenceTuning)):
        content = kind(tasks=("micro-sst2",)).content
        data = prompt_data(start, tokenizer, parts, PROTOCOL, content, "32-true")
        run = trained(start, data, epochs=3, learning_rate=3e-3, batch_size=16)
        start = tmp_path / str(number)
        run.model.backbone.save(start)
        scores.append(accuracy(start))
    assert len(held_out) == 300 and scores[0] < 0.58
    assert scores[1] > scores[0] + 0.05 and scores[2] > scores[0] + 0.1
