"""Parameter counts: published ones, and those of transformers' networks at random shapes."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from harness.models import FAMILIES, SIZES, Architecture, Size
from harness.models.counts.backbones import count_parameters
from harness.pretraining.generator import generator_architecture, generator_size
from harness.pretraining.objectives.outputs import ReplacedToken
from tests.models.counts.head_parameters import count_replaced_head, count_trained_parameters
from tests.models.networks import meta_count
from tests.models.reference import REFERENCE, SHAPES, VARIANTS, VOCAB, t5_stack

BERT_VOCAB = 30_522
GPT2_VOCAB = 50_257

UNTIED = {"tie_embeddings": False}
GROUPED = {"tie_embeddings": False, "num_kv_heads": 8}
V1_1 = {"gated_feed_forward": True, "tie_embeddings": False}

# transformers' models of the published configurations, without heads
PUBLISHED = [
    ("bert", "tiny", BERT_VOCAB, {}, 4_385_920),  # Turc et al. 2019: 4.4M, 11.2M, 28.8M, 41.4M
    ("bert", "mini", BERT_VOCAB, {}, 11_170_560),
    ("bert", "small", BERT_VOCAB, {}, 28_763_648),
    ("bert", "medium", BERT_VOCAB, {}, 41_373_184),
    ("bert", "base", BERT_VOCAB, {}, 109_482_240),  # Devlin et al. 2019: 110M and 340M
    ("bert", "large", BERT_VOCAB, {}, 335_141_888),
    ("bert", "base", 28_996, {}, 108_310_272),  # bert-base-cased
    ("bert", "tinybert4", BERT_VOCAB, {}, 14_350_248),  # Jiao et al. 2020: 14.5M and 67M
    ("bert", "half_base", BERT_VOCAB, {}, 66_955_008),
    ("bert", "minilm6", BERT_VOCAB, {}, 22_713_216),  # Wang et al. 2020, table 4: 11.7M + 10.6M
    # Dong et al. 2019, section 2.4: about 340M; BERT's cased vocabulary and four more segments
    ("bert", "large", 28_996, {"segment_types": 6}, 333_583_360),
    ("roberta", "base", 50_265, {}, 124_645_632),  # fairseq: 125M and 355M
    ("roberta", "large", 50_265, {}, 355_359_744),
    ("albert", "base", 30_000, {"embedding_size": 128}, 11_683_584),  # Lan et al. 2020: 12M,
    ("albert", "large", 30_000, {"embedding_size": 128}, 17_683_968),  # 18M,
    ("albert", "albert_xlarge", 30_000, {"embedding_size": 128}, 58_724_864),  # 60M,
    ("albert", "albert_xxlarge", 30_000, {"embedding_size": 128}, 222_595_584),  # and 235M
    ("electra", "electra_small", BERT_VOCAB, {"embedding_size": 128}, 13_483_008),  # Clark et al.
    ("electra", "base", BERT_VOCAB, {}, 108_891_648),  # 2020: 14M, 110M, 335M
    ("electra", "large", BERT_VOCAB, {}, 334_092_288),
    ("deberta", "base", 50_265, {}, 138_601_728),  # He et al. 2021: 134M
    ("deberta_v3", "base", 128_100, {}, 183_831_552),  # He et al. 2023: 86M + 98M
    ("distilbert", "half_base", BERT_VOCAB, {}, 66_362_880),  # Sanh et al. 2019: 66M
    ("xlnet", "base", 32_000, {}, 116_718_336),  # Yang et al. 2019
    ("gpt", "base", 40_478, {}, 116_534_784),  # Radford et al. 2018
    # openai/gpt-2, README: "our original parameter counts were wrong"
    ("gpt2", "base", GPT2_VOCAB, {"max_position": 1024}, 124_439_808),
    ("gpt2", "gpt2_medium", GPT2_VOCAB, {"max_position": 1024}, 354_823_168),
    ("gpt2", "gpt2_large", GPT2_VOCAB, {"max_position": 1024}, 774_030_080),
    ("gpt2", "gpt2_xl", GPT2_VOCAB, {"max_position": 1024}, 1_557_611_200),
    ("gpt2", "gpt3_large", GPT2_VOCAB, {"max_position": 2048}, 760_300_032),
    ("gpt2", "gpt3_xl", GPT2_VOCAB, {"max_position": 2048}, 1_315_723_264),
    ("gpt2", "gpt3_2_7b", GPT2_VOCAB, {"max_position": 2048}, 2_651_553_280),
    ("gpt2", "gpt3_6_7b", GPT2_VOCAB, {"max_position": 2048}, 6_658_404_352),
    ("gpt2", "gpt3_13b", GPT2_VOCAB, {"max_position": 2048}, 12_853_386_240),
    ("gpt2", "gpt3_175b", GPT2_VOCAB, {"max_position": 2048}, 174_604_259_328),
    ("opt", "base", 50_272, {"max_position": 2048}, 125_239_296),  # facebook/opt-*, from 125M
    ("opt", "opt_1_3b", 50_272, {"max_position": 2048}, 1_315_758_080),
    ("opt", "gpt3_2_7b", 50_272, {"max_position": 2048}, 2_651_596_800),
    ("opt", "gpt3_6_7b", 50_272, {"max_position": 2048}, 6_658_473_984),
    ("opt", "gpt3_13b", 50_272, {"max_position": 2048}, 12_853_473_280),
    ("opt", "opt_30b", 50_272, {"max_position": 2048}, 29_974_540_288),
    ("opt", "opt_66b", 50_272, {"max_position": 2048}, 65_719_701_504),
    # EleutherAI/gpt-neo-125m and -1.3B
    ("gpt_neo", "base", GPT2_VOCAB, {"max_position": 2048}, 125_198_592),
    ("gpt_neo", "gpt3_xl", GPT2_VOCAB, {"max_position": 2048}, 1_315_575_808),
    ("llama", "llama_7b", 32_000, UNTIED, 6_738_415_616),  # Touvron et al. 2023, table 2: 6.7B,
    ("llama", "llama_13b", 32_000, UNTIED, 13_015_864_320),  # 13.0B,
    ("llama", "llama_33b", 32_000, UNTIED, 32_528_943_616),  # 32.5B,
    ("llama", "llama_65b", 32_000, UNTIED, 65_285_660_672),  # 65.2B
    ("llama", "llama2_34b", 32_000, GROUPED, 33_743_970_304),  # Llama 2, table 1: 34B
    ("llama", "llama2_70b", 32_000, GROUPED, 68_976_648_192),  # and 70B
    ("llama", "llama3_8b", 128_256, GROUPED, 8_030_261_248),  # meta-llama, the release: 8B,
    ("llama", "llama3_70b", 128_256, GROUPED, 70_553_706_496),  # 70B
    ("llama", "llama3_405b", 128_256, GROUPED, 405_853_388_800),  # and 405B
    ("mistral", "mistral_7b", 32_000, GROUPED, 7_241_732_096),  # mistralai/Mistral-7B-v0.1
    ("qwen2", "qwen_1_8b", 151_936, UNTIED, 1_836_828_672),  # Bai et al. 2023, table 1: 1.8B,
    ("qwen2", "qwen_7b", 151_936, UNTIED, 7_721_324_544),  # 7B,
    ("qwen2", "qwen_14b", 152_064, UNTIED, 14_167_290_880),  # 14B, with a larger matrix
    # Gemma Team 2024, table 2, with 128 rows fewer: 1,981,884,416 without embeddings
    ("gemma", "gemma_2b", 256_000, {"num_kv_heads": 1}, 1_981_884_416 + 256_000 * 2048),
    ("gemma", "gemma_7b", 256_000, {}, 7_751_248_896 + 256_000 * 3072),
    ("t5", "t5_small", 32_128, {}, 60_506_624),  # Raffel et al. 2020: 60M, 220M, 770M, 3B
    ("t5", "t5_base", 32_128, {}, 222_903_552),
    ("t5", "t5_large", 32_128, {}, 737_668_096),
    ("t5", "t5_3b", 32_128, {}, 2_851_598_336),
    ("t5", "t5_11b", 32_128, {}, 11_307_321_344),  # 11B
    ("t5", "t5_v1_1_small", 32_128, V1_1, 76_961_152),  # google/t5-v1_1-*
    ("t5", "t5_v1_1_base", 32_128, V1_1, 247_577_856),
    ("t5", "t5_v1_1_large", 32_128, V1_1, 783_150_080),
    ("t5", "t5_v1_1_xl", 32_128, V1_1, 2_849_757_184),
    ("t5", "t5_v1_1_xxl", 32_128, V1_1, 11_135_332_352),
    ("t5", "t5_v1_1_small", 250_112, V1_1, 300_176_768),  # Xue et al. 2021, section 3.2: 300M,
    ("t5", "t5_v1_1_base", 250_112, V1_1, 582_401_280),  # 580M,
    ("t5", "t5_v1_1_large", 250_112, V1_1, 1_229_581_312),  # 1.2B,
    ("t5", "t5_v1_1_xl", 250_112, V1_1, 3_742_619_648),  # 3.7B,
    ("t5", "t5_v1_1_xxl", 250_112, V1_1, 12_921_057_280),  # and 13B
    ("t5", "ul2_20b", 32_128, V1_1, 19_591_209_984),  # Tay et al. 2023, section 5.1: 20B
    ("t5", "t5_small", 32_100, {}, 60_492_288),  # Salesforce/codet5-small and -base: 60M, 220M
    ("t5", "t5_base", 32_100, {}, 222_882_048),
    ("bart", "half_base", 50_265, {"max_position": 1024}, 139_420_416),  # Lewis et al. 2020
    ("bart", "half_large", 50_265, {"max_position": 1024}, 406_291_456),
]


def numbers(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)


def test_every_family_is_counted() -> None:
    shape = SIZES["nano"]
    for family in FAMILIES:
        assert count_parameters(Architecture(family=family), shape, VOCAB) >= 0


@pytest.mark.parametrize(("family", "size", "vocab_size", "more", "count"), PUBLISHED)
def test_published_counts(
    family: str, size: str, vocab_size: int, more: dict[str, Any], count: int
) -> None:
    architecture = Architecture(family=family, **more)
    assert count_parameters(architecture, SIZES[size], vocab_size) == count


@pytest.mark.parametrize(
    ("size", "millions"),
    [
        ("base", 125),
        ("gpt2_medium", 356),
        ("gpt3_large", 760),
        ("gpt3_xl", 1320),
        ("gpt3_2_7b", 2650),
        ("gpt3_6_7b", 6660),
        ("gpt3_13b", 12_850),
        ("gpt3_175b", 174_600),
    ],
)
def test_counts_of_gpt3(size: str, millions: int) -> None:
    """Brown et al. 2020, table D.1, to its digits."""
    architecture = Architecture(family="gpt2", max_position=2048)
    count = count_parameters(architecture, SIZES[size], GPT2_VOCAB)
    assert count / 1e6 == pytest.approx(millions, rel=4e-3)


@pytest.mark.parametrize(("size", "millions"), [("transformer_base", 65), ("transformer_big", 213)])
def test_counts_of_the_transformer(size: str, millions: int) -> None:
    """Vaswani et al. 2017, table 3, with about 37,000 tokens (section 5.1)."""
    count = count_parameters(Architecture(family="transformer"), SIZES[size], 37_000)
    assert count / 1e6 == pytest.approx(millions, rel=0.03)


@pytest.mark.parametrize(("family", "size", "vocab_size", "more", "count"), PUBLISHED)
def test_counts_of_built_networks(
    family: str, size: str, vocab_size: int, more: dict[str, Any], count: int
) -> None:
    """transformers' network of the published configuration, without its weights."""
    if FAMILIES[family].kind != "encoder":
        native = FAMILIES[family].representations[0]
        assert meta_count(family, SIZES[size], vocab_size, native, **more) == count


def test_published_counts_with_heads() -> None:
    base, vocab = SIZES["base"], BERT_VOCAB
    bert = Architecture()
    both = count_trained_parameters(bert, base, vocab, pair_format=True, pair_loss=True)
    assert count_trained_parameters(bert, base, vocab) == 109_514_298  # BertForMaskedLM
    assert both == 110_106_428  # BertForPreTraining
    distilled = Architecture(family="distilbert")
    assert count_trained_parameters(distilled, SIZES["half_base"], vocab) == 66_985_530


@pytest.mark.parametrize(
    ("size", "width", "embedding", "discriminator", "generator"),
    [
        ("electra_small", 1 / 4, 128, 13_549_057, 4_620_026),
        ("base", 1 / 3, None, 109_483_009, 33_740_602),
        ("large", 1 / 4, None, 335_142_913, 51_295_290),
    ],
)
def test_published_generators(
    size: str, width: float, embedding: int | None, discriminator: int, generator: int
) -> None:
    """google/electra-*-discriminator and -generator, with the heads they were trained with."""
    architecture = Architecture(family="electra", embedding_size=embedding)
    shape, output = SIZES[size], ReplacedToken(generator_width=width)
    with_head = count_parameters(architecture, shape, BERT_VOCAB) + count_replaced_head(shape)
    assert with_head == discriminator
    small = generator_size(shape, output)
    makes = generator_architecture(architecture, shape, output)
    assert count_trained_parameters(makes, small, BERT_VOCAB) == generator


def test_generator_of_half_the_layers() -> None:
    """He et al. 2023, section 3.1: as wide as the discriminator, half as deep."""
    output = ReplacedToken(generator_width=1, generator_depth=0.5)
    assert generator_size(SIZES["base"], output) == SIZES["half_base"]


@pytest.mark.parametrize("architecture", VARIANTS, ids=repr)
@pytest.mark.parametrize("size", SHAPES, ids=["one", "three", "two"])
def test_counts_of_networks(architecture: Architecture, size: Size) -> None:
    if architecture.share_decoder:
        architecture = architecture.model_copy(update={"num_decoder_layers": size.num_layers})
    with torch.device("meta"):
        network = REFERENCE[architecture.family](architecture, size)
    assert numbers(network) == count_trained_parameters(architecture, size, VOCAB)


@given(
    layers=st.integers(1, 3),
    heads=st.integers(1, 3),
    head_dim=st.integers(4, 9),
    hidden=st.integers(8, 40),
    inner=st.integers(8, 40),
    gated=st.booleans(),
)
@settings(max_examples=10, deadline=None)
def test_counts_of_heads_of_any_width(
    layers: int, heads: int, head_dim: int, hidden: int, inner: int, gated: bool
) -> None:
    size = Size(
        num_layers=layers,
        hidden_size=hidden,
        num_heads=heads,
        intermediate_size=inner,
        head_dim=head_dim,
    )
    architecture = Architecture(family="t5", gated_feed_forward=gated)
    with torch.device("meta"):
        both, stack = REFERENCE["t5"](architecture, size), t5_stack(architecture, size)
    assert numbers(both) == count_parameters(architecture, size, VOCAB)
    alone = count_parameters(architecture, size, VOCAB, representation="causal")
    assert numbers(stack) == alone


@pytest.mark.parametrize("embedding_size", [None, 12])
@pytest.mark.parametrize(
    ("family", "directions", "state", "read"),
    [("lstm", 1, 32, 32), ("bilstm", 2, 16, 32), ("elmo", 2, 16, 16)],
)
@pytest.mark.parametrize(("cell", "layer"), [(None, nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)])
def test_counts_of_recurrent_networks(
    family: str,
    directions: int,
    state: int,
    read: int,
    embedding_size: int | None,
    cell: str | None,
    layer: Any,
) -> None:
    """`state`: of one direction; `read`: what an upper layer and the output layer read."""
    size = Size(num_layers=2, hidden_size=32, num_heads=1, intermediate_size=8)
    fields = {"family": family, "embedding_size": embedding_size, "cell": cell}
    architecture = Architecture.model_validate(fields)
    width = embedding_size or read
    parts: list[nn.Module] = [nn.Embedding(VOCAB, width)]
    for _ in range(directions):
        parts += [layer(width, state), layer(read, state)]
    if embedding_size:  # too narrow to be the output matrix
        parts.append(nn.Linear(read, VOCAB))
    assert count_trained_parameters(architecture, size, VOCAB) == numbers(nn.ModuleList(parts))


def test_counts_of_two_ways() -> None:
    """Two GPT-2s of half the width, heads and feed-forward size, with one embedding."""
    size = Size(num_layers=3, hidden_size=48, num_heads=6, intermediate_size=64)
    half = Size(num_layers=3, hidden_size=24, num_heads=3, intermediate_size=32)
    gpt2 = Architecture(family="gpt2", max_position=32)
    with torch.device("meta"):
        one = numbers(REFERENCE["gpt2"](gpt2, half))
    architecture = Architecture(family="two_way_gpt2", max_position=32)
    assert count_parameters(architecture, size, VOCAB) == 2 * one - VOCAB * 24


def test_counts_of_vectors() -> None:
    assert count_parameters(Architecture(family="static"), SIZES["nano"], 100) == 2 * 100 * 64
