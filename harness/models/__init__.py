"""AXIS: model families and sizes, their networks, parameter counts and FLOPs.

This file holds the declared values and does not import torch; `harness.models.build` makes the
networks. Heads for tasks are in `harness.finetuning`, losses in `harness.pretraining.learners`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from harness.core.config import ConfigModel
from harness.models.sizes import SIZES, Size

__all__ = [
    "BOUNDED",
    "FAMILIES",
    "FAMILY_FIELDS",
    "LEARNED_POSITIONS",
    "MODELS",
    "OWN_BLOCKS",
    "ROTARY",
    "SIZES",
    "Architecture",
    "Family",
    "FamilyName",
    "Kind",
    "Size",
    "is_baseline",
]

Kind = Literal[
    "encoder",
    "decoder",
    "encoder_decoder",
    "recurrent",
    "averaging",
    "static",
    "baseline",
    "checkpoint",
]


@dataclass(frozen=True)
class Family:
    """Properties of all networks of a family."""

    kind: Kind
    representations: tuple[str, ...]
    """Supported representations, its native one first."""
    segments: bool = False
    """Whether it has segment embeddings for the texts of a pair."""


_MASKED = ("bidirectional", "causal", "prefix", "right_to_left")
"""Representations that differ in the attention mask only."""

FAMILIES: dict[str, Family] = {
    "bert": Family("encoder", _MASKED, segments=True),  # Devlin et al. 2019
    "roberta": Family("encoder", _MASKED, segments=True),  # Liu et al. 2019
    "albert": Family("encoder", _MASKED, segments=True),  # Lan et al. 2020
    "electra": Family("encoder", _MASKED, segments=True),  # Clark et al. 2020
    "deberta": Family("encoder", ("bidirectional",)),  # He et al. 2021
    "deberta_v3": Family("encoder", ("bidirectional",)),  # He et al. 2023
    "distilbert": Family("encoder", _MASKED),  # Sanh et al. 2019
    "modernbert": Family("encoder", _MASKED),  # Warner et al. 2024
    "xlnet": Family("encoder", ("permuted", "bidirectional"), segments=True),  # Yang et al. 2019
    "gpt": Family("decoder", ("causal",)),  # Radford et al. 2018
    "gpt2": Family("decoder", ("causal", "prefix", "bidirectional")),  # Radford et al. 2019
    "opt": Family("decoder", ("causal",)),  # Zhang et al. 2022
    "gpt_neo": Family("decoder", ("causal",)),  # Brown et al. 2020; Black et al. 2021
    "llama": Family("decoder", ("causal", "prefix", "bidirectional")),  # Touvron et al. 2023
    "mistral": Family("decoder", ("causal",)),  # Jiang et al. 2023; other masks have no window
    "qwen2": Family("decoder", ("causal", "prefix", "bidirectional")),  # Bai et al. 2023
    "gemma": Family("decoder", ("causal", "prefix", "bidirectional")),  # Gemma Team 2024
    # Raffel et al. 2020; as one stack, it is T5's encoder
    "t5": Family("encoder_decoder", ("encoder_decoder", *_MASKED)),
    "bart": Family("encoder_decoder", ("encoder_decoder",)),  # Lewis et al. 2020
    "transformer": Family("encoder_decoder", ("encoder_decoder",)),  # Vaswani et al. 2017
    "two_way_gpt2": Family("decoder", ("bilm",)),  # Devlin et al. 2019, section 5.1
    "lstm": Family("recurrent", ("causal",)),  # Dai and Le 2015
    "bilstm": Family("recurrent", ("bidirectional",)),  # Graves, Mohamed and Hinton 2013
    "elmo": Family("recurrent", ("bilm",)),  # Peters et al. 2018
    # Iyyer et al. 2015; Cer et al. 2018, section 3.2
    "dan": Family("averaging", ("bidirectional",)),
    # Mikolov et al. 2013a, 2013b; Pennington et al. 2014
    "static": Family("static", ("cbow", "skipgram")),
    "bag_of_words": Family("baseline", _MASKED),  # counts of words, logistic regression
    "majority": Family("baseline", _MASKED),  # the most frequent answer
    "lead": Family("baseline", _MASKED),  # the first three sentences
    "copy": Family("baseline", _MASKED),  # the source
    # a published checkpoint, whose files determine its representation
    "checkpoint": Family("checkpoint", ("bidirectional", "causal", "encoder_decoder", "permuted")),
}

LEARNED_POSITIONS = (
    *("bert", "roberta", "albert", "electra", "deberta", "deberta_v3", "distilbert"),
    *("gpt", "gpt2", "two_way_gpt2", "opt", "gpt_neo", "bart"),
)
"""Families with learned position embeddings, which limit inputs to `max_position`."""

BOUNDED = (*LEARNED_POSITIONS, "transformer")
"""Families with a table of positions, learned or fixed, which limits inputs to `max_position`."""

ROTARY = ("llama", "mistral", "qwen2", "gemma")
"""LLaMA and families of its design."""

NO_DROPOUT = (*ROTARY, "static")
"""Families that do not use `dropout`."""
NO_ATTENTION_DROPOUT = ("t5", "xlnet", "lstm", "bilstm", "elmo", "dan", "static")
"""Families that do not use `attention_dropout`."""

FamilyName = Literal[
    "bert", "roberta", "albert", "electra", "deberta", "deberta_v3", "distilbert", "modernbert",
    "xlnet", "gpt", "gpt2", "opt", "gpt_neo", "llama", "mistral", "qwen2", "gemma", "t5",
    "bart", "transformer", "two_way_gpt2", "lstm", "bilstm", "elmo", "dan", "static",
    "bag_of_words", "majority", "lead", "copy", "checkpoint",
]  # fmt: skip
"""The keys of FAMILIES."""

OWN_BLOCKS: Mapping[str, Mapping[str, object]] = {
    # Devlin et al. 2019, appendix A.2 (GELU); Vaswani et al. 2017, section 3.1
    "bert": {"positions": "learned", "norm": "post", "residual": True, "activation": "gelu"},
    "roberta": {"positions": "learned", "norm": "post", "residual": True, "activation": "gelu"},
    # Radford et al. 2019, section 2.3; openai/gpt-2, model.py
    "gpt2": {"positions": "learned", "norm": "pre", "residual": True, "activation": "gelu_new"},
    "dan": {"activation": "relu"},  # miyyer/dan, dan_sentiment.py
    **{family: {"cell": "lstm"} for family in ("lstm", "bilstm", "elmo")},
}
"""Family to the parts of its block that fields of `Architecture` replace, as published."""

FAMILY_FIELDS: Mapping[str, tuple[str, ...]] = {
    "embedding_size": ("albert", "electra", "lstm", "bilstm", "elmo"),
    "segment_types": ("bert", "roberta", "albert", "electra"),
    "num_decoder_layers": ("t5", "bart", "transformer"),
    "share_decoder": ("t5",),
    "gated_feed_forward": ("t5",),
    "tie_embeddings": ("t5", *ROTARY, "lstm", "bilstm", "elmo"),
    "num_kv_heads": ROTARY,
    "rope_base": (*ROTARY, "modernbert"),
    "sliding_window": ("mistral", "gpt_neo"),
    "mask_decoder": ("deberta", "deberta_v3"),
    "context_size": ("static",),
    "vectors": ("static", "bert", "roberta", "gpt2", "lstm", "bilstm", "elmo", "dan"),
    "bigram_buckets": ("dan",),
    "characters": ("lstm", "bilstm", "elmo"),
    **{
        name: tuple(family for family, own in OWN_BLOCKS.items() if name in own)
        for name in ("positions", "norm", "residual", "activation", "cell")
    },
    "checkpoint": ("checkpoint",),
    "revision": ("checkpoint",),
}
"""Field to the families that have it; in others it must have its default."""


class Architecture(ConfigModel):
    """A model family and its hyperparameters other than the size."""

    family: FamilyName = "bert"
    max_position: int = Field(default=512, ge=8, le=2**30)
    """Maximum sequence length in tokens (without RoBERTa's padding offset)."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Not used by LLaMA, Mistral, Qwen and Gemma, as published. Of a deep averaging network, word
    dropout: the share of words that an average leaves out (Iyyer et al. 2015: 0.3)."""
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Not used by T5 and XLNet, where `dropout` applies, nor by recurrent and deep averaging
    networks and static vectors."""
    initializer_range: float = Field(default=0.02, gt=0)
    """Standard deviation of the initial weights. 0.02 is meant for hidden size 768; narrow models
    learn faster with 0.02 x sqrt(768 / hidden_size). T5 scales by the shapes of the weights,
    multiplied by initializer_range / 0.02."""
    embedding_size: int | None = Field(default=None, ge=8)
    """Width of the token embeddings, projected to hidden_size; null takes hidden_size."""
    segment_types: int | None = Field(default=None, ge=2)
    """Segment embeddings, of which a component of a mixture may have its own (`segments`); null: as
    published, one for each text of a pair."""
    num_decoder_layers: int | None = Field(default=None, ge=1)
    """Layers of the decoder; null takes those of the encoder."""
    share_decoder: bool = False
    """Whether encoder and decoder share self-attention and feed-forward layers (Raffel et al. 2020,
    table 2)."""
    gated_feed_forward: bool = False
    """Whether feed-forward layers have a gated GELU, as in T5 v1.1 (Shazeer 2020)."""
    tie_embeddings: bool = True
    """Whether the output matrix is the embedding matrix."""
    num_kv_heads: int | None = Field(default=None, ge=1)
    """Key and value heads, shared by groups of query heads; null takes num_heads."""
    positions: Literal["learned", "sinusoidal", "none"] | None = None
    """Positions that are added to the token embeddings: a trained table, fixed sines and cosines
    (Vaswani et al. 2017, section 3.5), or none; null: as published with the family, as in the next
    three fields. Of bert, roberta and gpt2."""
    norm: Literal["post", "pre", "none"] | None = None
    """Place of LayerNorm: after each residual sum, or before each sublayer and above the last one
    (Xiong et al. 2020, figure 1), or nowhere but in the token head. BERT's norm of the embeddings
    goes with `post`."""
    residual: bool | None = None
    """Whether the input of each sublayer is added to its output (He et al. 2016)."""
    activation: Literal["gelu", "gelu_new", "relu", "relu2", "silu", "tanh", "linear"] | None = None
    """Of the feed-forward layers, and of BERT's token head, by its name in transformers: `gelu_new`
    is GPT-2's approximation, `relu2` the square (So et al. 2021), `linear` none. Of bert, roberta,
    gpt2 and dan, whose own is `relu`."""
    cell: Literal["lstm", "gru", "rnn"] | None = None
    """Of lstm, bilstm and elmo: gated recurrent units (`gru`, Cho et al. 2014) or a plain recurrent
    network with tanh (`rnn`, Elman 1990); null: LSTMs."""
    rope_base: float | None = Field(default=None, gt=1)
    """Base of the angles of rotary positions; null: 10,000 (Su et al. 2021), and in the layers of a
    modernbert that see all tokens 160,000, as after its context was extended (Warner et al. 2024,
    section 2.2.2)."""
    sliding_window: int | None = Field(default=None, ge=1)
    """Tokens that a token sees, itself included, in each layer of a Mistral, null: 4,096 (Jiang et
    al. 2023, table 1), or in every second layer of a GPT-Neo, null: 256, as transformers."""
    mask_decoder: Literal["enhanced"] | None = None
    """What stands between the layers of a DeBERTa and its token head: its enhanced mask decoder,
    which adds absolute positions (He et al. 2021, section 3.2), or nothing. Fine-tuning reads the
    last layer either way."""
    context_size: int = Field(default=5, ge=1)
    """Context tokens on each side, from which CBOW predicts a token."""
    bigram_buckets: int | None = Field(default=None, ge=0, le=2**30)
    """Embeddings of bigrams of a deep averaging network, which a hash shares among all bigrams; 0:
    words alone; null: as many as the vocabulary has tokens."""
    characters: int | None = Field(default=None, ge=7, le=256)
    """Characters of a token, bytes of UTF-8 and two marks of its ends, of which convolutions make
    its embedding, as ELMo's (Peters et al. 2018; allenai/bilm-tf: 50); longer tokens are cut. The
    output matrix is then not tied. Null: an embedding for each token."""
    vectors: str | None = None
    """File of initial token embeddings: word vectors in GloVe's text format, of the width of the
    embeddings. They are trained with the network."""
    checkpoint: str | None = None
    """A published checkpoint in Hugging Face format: a folder, or an id of the Hub. Its files
    determine network, tokenizer and objective; other fields of the run do not apply."""
    revision: str | None = None
    """Commit, branch or tag of a Hub id; only a commit identifies the weights."""

    @property
    def facts(self) -> Family:
        """Properties of the family."""
        return FAMILIES[self.family]

    @model_validator(mode="after")
    def _fields_of_the_family(self) -> "Architecture":
        for name, families in FAMILY_FIELDS.items():
            default = type(self).model_fields[name].default
            if self.family not in families and getattr(self, name) != default:
                raise ValueError(
                    f"{name} belongs to {', '.join(families)}, but family is {self.family}; "
                    "leave it out"
                )
        for name, own in OWN_BLOCKS.get(self.family, {}).items():
            if getattr(self, name) == own:
                raise ValueError(
                    f"{name} of a {self.family} is {json.dumps(own)} anyway; leave it out, or "
                    "write null"
                )
        return self

    @property
    def has_dropout(self) -> bool:
        """Whether states differ between two passes in training; true of a checkpoint, whose files
        determine it."""
        if self.facts.kind == "checkpoint":
            return True
        unused = {"dropout": NO_DROPOUT, "attention_dropout": NO_ATTENTION_DROPOUT}
        return any(getattr(self, name) and self.family not in of for name, of in unused.items())

    @property
    def block(self) -> dict[str, Any]:
        """The parts of the block of a family of OWN_BLOCKS; empty of others."""
        own = OWN_BLOCKS.get(self.family, {})
        given = {name: getattr(self, name) for name in own}
        return {**own, **{name: value for name, value in given.items() if value is not None}}

    @property
    def has_own_block(self) -> bool:
        """Whether positions, norm and residual connections are as published with the family."""
        return (self.positions, self.norm, self.residual) == (None, None, None)


MODELS: dict[str, Architecture] = {
    **{name: Architecture(family=name) for name in FAMILIES},
    "albert": Architecture(family="albert", embedding_size=128),  # Lan et al. 2020, section 3.1
    "electra_small": Architecture(family="electra", embedding_size=128),  # Clark 2020, table 6
    "t5_v1_1": Architecture(family="t5", gated_feed_forward=True, tie_embeddings=False),
    "t5_shared": Architecture(family="t5", share_decoder=True),  # Raffel et al. 2020, table 2
}


def is_baseline(family: str) -> bool:
    """Whether models of a family are baselines without pretraining and without randomness."""
    return family in FAMILIES and FAMILIES[family].kind == "baseline"
