"""Static vectors: CBOW's mean by a loop; vectors from a file."""

from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor

from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.static_embeddings import StaticVectors
from harness.models.word_vectors import init_embeddings
from tests.models.counts.head_parameters import count_trained_parameters

TOKENS = Tokens(vocab_size=30, pad=0, start=1, end=2)
STATIC = Architecture(family="static", context_size=2)
WORDS = ("", "", "", "the", "cat", "", ",", "of course")


def backbone_of() -> Backbone:
    size = Size(num_layers=1, hidden_size=8, num_heads=1, intermediate_size=8)
    return build(STATIC, size, TOKENS, "cbow", seed=0)


def make() -> StaticVectors:
    network = backbone_of().network
    assert isinstance(network, StaticVectors)
    return network


@torch.no_grad()
def test_context_is_the_mean_of_the_neighbours() -> None:
    network = make()
    rows = torch.tensor([[1, 5, 6, 7, 2, 8, 9, 2], [1, 9, 2, 0, 0, 0, 0, 0]])
    mask = (rows != 0).long()
    found = network.context(rows, mask)
    for b, row in enumerate(rows.tolist()):
        for t in range(len(row)):
            around = [row[i] for i in range(max(0, t - 2), min(len(row), t + 3)) if i != t]
            text = [token for token in around if token > 2]
            expected = torch.zeros(8)
            if text:
                expected = network.embeddings.weight[text].mean(0)
            torch.testing.assert_close(found[b, t], expected)


@torch.no_grad()
def test_special_tokens_are_no_context(tmp_path: Path) -> None:
    """Such as unknown words, which stand within a text; also when it is loaded again."""
    size = Size(num_layers=1, hidden_size=8, num_heads=1, intermediate_size=8)
    tokens = Tokens(vocab_size=30, pad=0, start=1, end=2, special=(0, 1, 2, 3, 29))
    build(STATIC, size, tokens, "cbow", seed=0).save(tmp_path)
    network = load(tmp_path).network
    assert isinstance(network, StaticVectors)
    found, vectors = network.context(torch.tensor([[1, 5, 3, 6, 29, 2]])), network.embeddings.weight
    expected = [vectors[5], vectors[6], (vectors[5] + vectors[6]) / 2, vectors[5]]
    torch.testing.assert_close(found[0, :4], torch.stack(expected))


def test_it_is_saved_whole_and_counted(tmp_path: Path) -> None:
    size = Size(num_layers=1, hidden_size=8, num_heads=1, intermediate_size=8)
    backbone = build(STATIC, size, TOKENS, "cbow", seed=0)
    backbone.save(tmp_path)
    again, row = load(tmp_path), torch.tensor([[1, 5, 6, 2]])
    states = backbone(row, output_hidden_states=True)
    assert torch.equal(again(row).last_hidden_state, states.last_hidden_state)
    assert states.hidden_states is not None and len(states.hidden_states) == 1
    total = sum(p.numel() for p in backbone.parameters())
    assert total == count_trained_parameters(STATIC, size, 30) == 2 * 30 * 8


def glove(folder: Path, *lines: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def numbers(first: float) -> str:
    return " ".join(str(first + i) for i in range(8))


def test_vectors_of_a_file(tmp_path: Path) -> None:
    backbone = backbone_of()
    path = glove(
        tmp_path,
        f"the {numbers(1)}",
        f"of course {numbers(2)}",
        f", {numbers(3)}",
        f"x {numbers(4)}",
    )
    assert init_embeddings(backbone, path, WORDS) == 3
    weights = cast(Tensor, backbone.network.get_input_embeddings().weight)
    assert weights[3].tolist() == [1.0 + i for i in range(8)]
    assert weights[7].tolist() == [2.0 + i for i in range(8)]
    assert weights[6].tolist() == [3.0 + i for i in range(8)]
    assert not weights[[0, 1, 2, 4, 5]].any()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((f"the {numbers(1)}", "cat 1 2"), r"txt:2: a line must be a word and 8 numbers, .* 'cat"),
        ((f"the {numbers(1)}", f"cat {numbers(1)} 9"), r"txt:2: a line must be a word and 8"),
        ((f"the {numbers(1)}", f"cat x{numbers(1)}"), r"txt:2: a line must be a word and 8"),
        ((f"the nan {numbers(1)[2:]}",), r"txt:1: a line must be a word and 8"),
        (
            (f"the {numbers(1)}", "cat" + 8 * " 1e999"),
            r"txt:2: a line must be a word and 8",
        ),
        (("the 1 2 3",), r"txt:1: the vectors have 3 numbers, .* set size.hidden_size to 3"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(
    lines: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        init_embeddings(backbone_of(), glove(tmp_path, *lines), WORDS)


def test_words_in_another_encoding_are_other_words(tmp_path: Path) -> None:
    """Files of words from the web have some that are no UTF-8; numbers are ASCII in any case."""
    path = tmp_path / "latin1.txt"
    path.write_bytes(f"caf\xe9 {numbers(5)}\nthe {numbers(1)}\n".encode("latin1"))
    assert init_embeddings(backbone_of(), path, WORDS) == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"model\.vectors must be .*nothing does not exist"):
        init_embeddings(backbone_of(), tmp_path / "nothing", WORDS)
