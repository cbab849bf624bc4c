"""Answers written after solved examples: prompts and texts against transformers alone, what is
dropped from long prompts, whole runs, and what is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.pre_tokenizers import ByteLevel
from transformers import GenerationConfig, PreTrainedTokenizerFast

from harness.core.compute import Compute
from harness.data.tokenizers import Tokenizer, training
from harness.finetuning.adaptation import ADAPTATIONS, Prompt
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.in_context import InContextAnswers, answered
from harness.finetuning.protocol import Protocol
from harness.finetuning.run import predict
from harness.models import MODELS
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.recipes import RECIPES
from harness.tasks import TASKS
from harness.tasks.examples import Answers, Examples, column
from harness.tasks.task import Task
from tests.finetuning.heads.test_text import SIZE
from tests.plan.test_task_chain_stages import planned, stage_of
from tests.stage_runner import StageRunner

QUESTIONS: list[tuple[str, ...]] = [
    ("who saw the axe?", "clara saw the axe."),
    ("what is red?", "the plot is red, the pig beside the bicycle is blue."),
    ("who sold it?", "oscar said that peter sold it."),
]
SOLVED = Examples(
    [("who found the pig?", "lucy found the pig."), ("what is noisy?", "the city is noisy.")],
    column([Answers(("lucy",), (0,)), Answers(("the city",), (0,))]),
)
EXAMPLES = Examples(QUESTIONS, column([Answers((), ())] * 3))
SQUAD = TASKS["micro-squad"]


@pytest.fixture(scope="module", params=["byte_bpe", "wordpiece"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp(request.param)
    texts = [f"{text}\nA: {text}" for pair in (*QUESTIONS, *SOLVED.texts) for text in pair]
    value = Tokenizer.model_validate({"algorithm": request.param, "vocab_size": 320})
    training.train(value, iter(texts * 5), made)
    if request.param == "byte_bpe":  # as in GPT-2, and not as in RoBERTa
        tokenizer = PreTrainedTokenizerFast.from_pretrained(made)
        tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        tokenizer.save_pretrained(made)
    return made


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast.from_pretrained(folder)


def head_of(
    tokenizer: PreTrainedTokenizerFast, shown: Examples | None = SOLVED, **protocol: Any
) -> InContextAnswers:
    fields = {"answer": "text", "max_sequence_length": 100, "max_target_length": 8, **protocol}
    return InContextAnswers(SQUAD, Protocol.model_validate(fields), tokenizer, shown)


def network(tokenizer: PreTrainedTokenizerFast, family: str = "gpt2") -> Any:
    model = MODELS[family].model_copy(update={"initializer_range": 0.3, "max_position": 160})
    ids = (tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id)
    return build(model, SIZE, Tokens(len(tokenizer), *ids), "causal", seed=0)


def prompt_text(shown: Examples | None, texts: tuple[str, ...]) -> str:
    """The prompt of a tokenizer with line ends, written out."""
    solved = zip(shown.texts, shown.labels, strict=True) if shown else ()
    before = "".join(f"{q} \\n {c}\nA: {a.texts[0]}\n" for (q, c), a in solved)
    return f"{before}{texts[0]} \\n {texts[1]}\nA:"


@pytest.mark.parametrize("shown", [None, SOLVED])
def test_prompts_are_the_texts_written_out(
    tokenizer: PreTrainedTokenizerFast, shown: Examples | None
) -> None:
    head = head_of(tokenizer, shown)
    data = head.encode(EXAMPLES)
    for row, texts in enumerate(QUESTIONS):
        found = data.input_ids[row].tolist()
        if head.stop == tokenizer.sep_token_id:  # without line ends, the end token ends an answer
            text = prompt_text(shown, texts).replace("\nA:", " A:").replace("\n", "[SEP]")
            assert found == tokenizer(f"[CLS]{text}", add_special_tokens=False)["input_ids"]
        else:
            ids = tokenizer(prompt_text(shown, texts), add_special_tokens=False)["input_ids"]
            assert found == [*head.codec.before, *ids]
    assert data.truncated == 0


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_answers_are_those_of_transformers_up_to_the_line_end(
    tokenizer: PreTrainedTokenizerFast, family: str
) -> None:
    head, backbone = head_of(tokenizer), network(tokenizer, family)
    model = head.make_model(backbone, Prompt())
    assert isinstance(model, TextModel)
    data = head.encode(EXAMPLES)
    found = predict(model, head, data, EXAMPLES)
    for row, answer in enumerate(found):
        config = GenerationConfig(
            max_new_tokens=8,
            do_sample=False,
            eos_token_id=head.stop,
            pad_token_id=tokenizer.pad_token_id,
        )
        ids = torch.tensor(data.input_ids[row].astype(np.int64))[None]
        whole = backbone.network.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=config
        )
        written = whole[0, ids.shape[1] :]
        text = str(tokenizer.decode(written, skip_special_tokens=False))
        for end in ("\n", tokenizer.sep_token):
            text = text.partition(end)[0]
        for special in tokenizer.all_special_tokens:
            text = text.replace(special, "")
        assert answer == text.strip()


def test_what_follows_the_line_end_is_not_part_of_the_answer(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    head = head_of(tokenizer)
    tokens = head.codec.tokens(["the pig", "blue"])
    row = [*tokens[0], head.stop, *tokens[1]]
    (found,) = head.decode(torch.tensor([row]), {})
    assert head.codec.text(found) == "the pig"
    assert head.decode(torch.tensor([tokens[0]]), {}) == [tokens[0]]


def test_a_token_may_hold_more_than_a_line_end() -> None:
    """As ".\n" and "\n\n" of Llama 3's tokenizer."""

    class Joined(InContextAnswers):
        def __init__(self) -> None:
            self.task, self.adds_lines = SQUAD, False
            self.codec: Any = SimpleNamespace(text=lambda tokens: "".join(tokens).strip())

    rows = [["the pig", ".\n", "who"], ["blue", "\n\n"], ["red"]]
    found = Joined().predictions(rows, None, EXAMPLES)  # type: ignore[arg-type]  # not read
    assert found.tolist() == ["the pig.", "blue", "red"]


def test_long_prompts_lose_their_longest_demonstrations_first(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    whole = head_of(tokenizer, max_sequence_length=1_000)
    rows = whole.encode(EXAMPLES).lengths
    longest, shortest = sorted(map(len, whole.solved), reverse=True)
    room = int(rows.max()) - 1
    lengths = head_of(tokenizer, max_sequence_length=room).encode(EXAMPLES).lengths
    place = int(rows.argmax())
    assert lengths[place] == rows[place] - longest and lengths.max() <= room
    room = int(rows.max()) - longest - shortest - 3
    cut = head_of(tokenizer, max_sequence_length=room).encode(EXAMPLES)
    assert cut.lengths[place] == room and cut.truncated == pytest.approx(1 / 3)
    assert cut.input_ids[place][-len(whole.answer) :].tolist() == whole.answer


def test_demonstrations_are_drawn_by_the_seed(folder: Path, tmp_path: Path) -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    network(tokenizer).save(tmp_path)
    fields = {"answer": "text", "max_sequence_length": 60, "max_target_length": 6}
    protocol = Protocol.model_validate({**fields, "num_fewshot": 1})
    found = [
        answered(tmp_path, folder, SQUAD, protocol, SOLVED, seed, Compute())(EXAMPLES).tolist()
        for seed in (0, 0, 1, 2, 3)
    ]
    assert found[0] == found[1] and any(one != found[0] for one in found[2:])


def test_answers_are_computed_in_float32(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As all prompts, whose keys have no precision."""
    reduced: list[bool] = []
    written = InContextAnswers.predict_batch

    def spy(*given: Any) -> Any:
        reduced.append(torch.is_autocast_enabled("cpu"))
        return written(*given)

    monkeypatch.setattr(InContextAnswers, "predict_batch", spy)
    network(PreTrainedTokenizerFast.from_pretrained(folder)).save(tmp_path)
    fields = {"answer": "text", "max_sequence_length": 60, "max_target_length": 2}
    protocol, compute = Protocol.model_validate(fields), Compute(precision="bf16-mixed")
    answered(tmp_path, folder, SQUAD, protocol, None, 0, compute)(EXAMPLES)
    assert reduced == [False]


def test_a_run_writes_and_scores_answers(tmp_path: Path) -> None:
    """No training, and a run for each draw of the demonstrations."""
    protocol = {"answer": "text", "num_fewshot": 2, "max_target_length": 4}
    model = {"max_position": 256}
    made = planned(
        {"pretrain.recipe": ["gpt2"], "pretrain.model": [model]},
        suite="micro-squad-v1",
        tasks=["micro-squad"],
        adaptation="prompt",
        protocol={**protocol, "max_sequence_length": 200, "max_train_examples": 16},
    )
    assert not made.unsupported, made.unsupported_lines
    runner = StageRunner(tmp_path)
    metrics = runner.make(made, stage_of(made, "micro-squad").key)
    assert metrics["steps"] == 0 and 0 <= metrics["validation/token_f1"] <= 1


GPT2, BERT, LSTM = (RECIPES[name] for name in ("gpt2", "bert", "lm_lstm"))


@pytest.mark.parametrize(
    ("task", "run", "protocol", "why"),
    [
        (SQUAD, GPT2, {"answer": "text"}, ""),
        (TASKS["micro-sum"], GPT2, {"num_fewshot": 1}, ""),
        (SQUAD, GPT2, {}, "the task has no prompt"),
        (SQUAD, BERT, {"answer": "text"}, "by causal models, and it is bidirectional"),
        (SQUAD, GPT2, {"answer": "text", "max_sequence_length": 1_000}, "1024 positions are fewer"),
        (
            SQUAD.model_copy(update={"train": None}),
            GPT2,
            {"answer": "text", "num_fewshot": 1},
            "no train set to draw",
        ),
        (SQUAD, LSTM, {"answer": "text", "num_beams": 4}, "a causal lstm decodes greedily, but"),
        (TASKS["micro-rte"], GPT2, {"answer": "text"}, ""),  # chosen by likelihood, as before
    ],
)
def test_support_is_known_before_anything_is_computed(
    task: Task, run: Any, protocol: dict[str, Any], why: str
) -> None:
    found = unsupported_reason(task, Protocol(**protocol), ADAPTATIONS["prompt"], run)
    assert why in found and bool(why) == bool(found)


def test_a_perfect_summary_of_several_sentences_is_whole(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    summary = "the plot is red.\nthe pig is blue."
    shown = Examples([("oscar said that. peter sold it.",)], column([summary]))
    protocol = Protocol(answer="text", max_sequence_length=100, max_target_length=16)
    head = InContextAnswers(TASKS["micro-sum"], protocol, tokenizer, shown)
    (written,) = head.codec.tokens([summary.replace("\n", " ")])
    found = head.predictions([written], head.encode(shown), shown)
    assert [*found] == [summary]
    alone = InContextAnswers(TASKS["micro-sum"], protocol, tokenizer, None)
    (solved,) = head.solved
    assert solved.count(head.stop) == 1 + len(alone.line_end)  # of the question, and at the end
