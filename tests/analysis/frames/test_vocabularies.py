"""Vocabularies as declared and as learned."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from harness.analysis.frames.vocabularies import vocabularies_frame
from harness.analysis.results import Results
from tests.analysis.test_power import planned


def test_parameters_are_those_of_the_learned_vocabulary(tmp_path: Path) -> None:
    """An entry that was not learned has no embedding."""
    plan = planned()
    tokenizer = {plan.stages[key].parents["tokenizer"] for key in plan.pretrain_keys.values()}
    store: Any = SimpleNamespace(files=lambda found: tmp_path)

    def frame(learned: int, finished: bool = True) -> Any:
        words = {f"word{number}": number for number in range(learned)}
        Tokenizer(WordLevel(words, unk_token="word0")).save(str(tmp_path / "tokenizer.json"))
        results = Results(plan, store=store)
        results.__dict__["plan"] = plan
        keys = tokenizer if finished else ()
        results.__dict__["finished"] = {key: cast(Any, SimpleNamespace()) for key in keys}
        return vocabularies_frame(results)

    declared = plan.arms[0].pretrain.tokenizer
    assert declared
    few, more = frame(300), frame(400)
    assert few["arm"].tolist() == [arm.name for arm in plan.arms]
    assert set(few["declared"]) == {declared.vocab_size} and set(few["learned"]) == {300}
    per_entry = (more["parameters"] - few["parameters"]) / 100
    assert per_entry.tolist() == [64, 64]  # the hidden size of `nano`
    assert frame(300, finished=False).empty
