"""The fine-tuning protocol and its hyperparameters."""

import json
from typing import Any, Literal

from pydantic import Field, model_validator

from harness.core.config import ConfigModel, Count
from harness.finetuning.auxiliary import Auxiliary
from harness.finetuning.retrieval_index import AnyIndex
from harness.tasks.perturbation import Perturbation

UNSEEING = ("causal", "encoder_decoder", "cbow", "skipgram")
"""Representations in which the first token attends only to itself."""
OF_ADAMW = ("beta2", "bias_correction")
"""Settings of fine-tuning that other optimisers do not have."""


class Finetune(ConfigModel):
    """Hyperparameters of fine-tuning, which a sweep may search."""

    learning_rate: float = Field(default=5e-5, gt=0)
    batch_size: int = Field(default=32, ge=1, le=1_000_000)
    epochs: int = Field(default=3, ge=1, le=100_000)
    warmup_fraction: float = Field(default=0.1, ge=0, le=1)
    weight_decay: float = Field(default=0.01, ge=0)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    auxiliary_lm_weight: float = Field(default=0.0, ge=0)
    """Weight of a next-token loss on the task's inputs, for causal models (Radford et al. 2018,
    section 3.2: 0.5)."""
    layer_decay: float | None = Field(default=None, gt=0, le=1)
    """Layer-wise learning rate decay: of L layers, the i-th from below has the factor to the power
    L + 2 - i, the embeddings to the power L + 2, the output layer 1 (google-research/electra,
    optimization.py, `_get_layer_lrs`; Clark et al. 2020, table 7: 0.8 for small, 0.9 for large)."""
    schedule: Literal["linear", "cosine", "constant"] | None = None
    """Learning rate decay after the warmup; null: linear to zero."""
    epoch_decay: float | None = Field(default=None, gt=0, lt=1)
    """Factor of the learning rate from each epoch to the next, besides the schedule (Conneau et al.
    2017, section 3.3: 0.99); null: 1."""
    holdout_decay: float | None = Field(default=None, gt=0, lt=1)
    """Factor of the learning rate after an epoch whose main score on the hold-out is not above the
    best one before (ibid., on the dev set: 0.2); null: 1."""
    optimizer: Literal["adamw", "sgd"] | None = None
    """`sgd`: stochastic gradient descent without momentum (ibid., with learning rate 0.1); null:
    adamw."""
    bias_correction: bool | None = None
    """Bias correction of Adam; false for the original BERT optimizer, which is less stable on small
    tasks (Mosbach et al. 2021; Zhang et al. 2021, section 4); null: true."""
    embeddings: Literal["fixed"] | None = None
    """`fixed`: token embeddings keep their pretrained values, as the word vectors below InferSent
    do (Conneau et al. 2017, section 3.3); null: they are trained."""
    reinit_layers: int | None = Field(default=None, ge=1)
    """Number of top layers that are re-initialised (Zhang et al. 2021, section 5)."""
    neftune_alpha: float | None = Field(default=None, gt=0)
    """Scale of uniform noise on the token embeddings in training (Jain et al. 2023, algorithm 1:
    5 to 15); null: none."""
    sift_weight: float | None = Field(default=None, gt=0)
    """Weight of the difference between outputs for clean inputs and for adversarially perturbed
    token embeddings: SiFT (He et al. 2021, section 4; microsoft/DeBERTa, experiments/glue/mnli.sh:
    5); null: none."""
    mixout: float | None = Field(default=None, gt=0, lt=1)
    """Probability with which an update reads the weights of an input of a linear layer as they were
    before fine-tuning (Lee et al. 2020: 0.7 to 0.9, in place of dropout); null: none."""
    decay_toward: Literal["pretrained"] | None = None
    """Where weight decay pulls the pretrained weights: to their values before fine-tuning
    (`pretrained`; L2-SP, Li et al. 2018); null: to 0, as new weights."""
    auxiliary: Auxiliary | None = None
    """Pretraining objectives learned together with the task, with fixed or learned weights (Dery et
    al. 2021, 2022); null: none."""

    @property
    def predicts_tokens(self) -> bool:
        """Whether the network's own token head is trained beside the task."""
        return bool(self.auxiliary or self.auxiliary_lm_weight)

    @model_validator(mode="after")
    def _of_the_optimizer(self) -> "Finetune":
        for name in OF_ADAMW if self.optimizer == "sgd" else ():
            if getattr(self, name) != (default := type(self).model_fields[name].default):
                raise ValueError(
                    f"{name} is of adamw, but optimizer is sgd; leave it out, or set it to "
                    f"{json.dumps(default)}"
                )
        return self

    @model_validator(mode="after")
    def _one_auxiliary(self) -> "Finetune":
        if self.auxiliary and self.auxiliary_lm_weight:
            raise ValueError(
                "auxiliary_lm_weight and auxiliary exclude each other; list clm among "
                "auxiliary.objectives instead"
            )
        return self


class Protocol(ConfigModel):
    """How models are fine-tuned and scored: equal for all arms, shown under every table."""

    pooling: Literal["native", "cls", "last", "mean", "max", "mean_sqrt_len", "word"] = "native"
    """Input of the output layer: the state of the first token (`cls`) or the `last`, the `mean` or
    `max` over tokens, their sum over the root of their number (`mean_sqrt_len`, Cer et al. 2018),
    or the `native` one of the representation: the first token of bidirectional
    networks, the last of causal ones, both ends of a biLM or a biLSTM, the mean of static
    embeddings. Where embeddings are compared, `native` is a sentence-transformers model's own
    pooling. `word`, for tasks with `marked_words` such as WiC: the mean over the tokens of the word
    in each text; of two texts u, v, |u - v| and u * v (Conneau et al. 2017, section 3.2)."""
    use: Literal["encoder"] | None = None
    """The part of an encoder-decoder that is fine-tuned: null: all of it, which reads an input with
    both halves; `encoder`: its encoder alone, as an encoder."""
    answer: Literal["head", "text"] = "head"
    """Output format: a new output layer (`head`), or generated `text` as in T5 (Raffel et al. 2020,
    section 2.4), which needs a generative model. Generation tasks always use text."""
    both_orders: bool = False
    """Whether pairs of symmetric tasks (similarity, paraphrase) are encoded in both orders and the
    vectors added (Radford et al. 2018, section 3.3)."""
    head: Literal["mlp", "bilstm", "bilstm_attention"] | None = None
    """Task network below the output layer: null: none; `mlp`: a hidden layer with tanh on the
    pooled vector, or on each token; `bilstm`: a bidirectional LSTM over the states, before pooling,
    as in ELMo's task models (Peters et al. 2018, section 3.3). `native` pooling of a biLSTM takes
    both ends. `bilstm_attention`: for pairs of texts, which the network reads separately, a biLSTM,
    attention between the texts, a second biLSTM and the maximum over words (Wang et al. 2019, GLUE,
    BiLSTM with ELMo and attention); for single texts `bilstm`."""
    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the output layer, and before the task network."""
    max_sequence_length: int = Field(default=128, ge=8, le=10_000_000)
    """Most tokens of an input; the longer text of a pair is truncated first. Unless it is set, a
    sentence-transformers model scores similarity tasks with its own length."""
    max_target_length: int = Field(default=64, ge=2, le=10_000_000)
    """Most tokens of a text output, including the end token; longer ones are truncated."""
    doc_stride: int = Field(default=64, ge=1)
    """Tokens of overlap between two windows of a long input, as in run_qa.py of transformers; in
    google-research/bert it is the step instead."""
    num_beams: int = Field(default=1, ge=1)
    """Beam size for text output; 1 is greedy decoding."""
    num_fewshot: int = Field(default=0, ge=0)
    """Demonstrations from the train set in each prompt, for the adaptation `prompt`."""
    holdout_fraction: float = Field(default=0.1, gt=0, lt=1)
    """Share of the train set held out to select hyperparameters; the dev set is only scored."""
    max_holdout_examples: Count = Field(default=1000, ge=1)
    """Most examples of the hold-out."""
    holdout_groups: Literal["texts"] | None = None
    """What the hold-out must not divide: `texts`: examples that share a text, such as questions
    about one paragraph, are held out together; null: only the groups of a task that has them."""
    max_train_examples: Count | None = Field(default=None, ge=8)
    """Most training examples; null for all."""
    selection: Literal["last", "best"] = "last"
    """Scored weights: of the last epoch, or of the best epoch on the hold-out."""
    perturb: Perturbation = Perturbation()
    """Noise in the reported examples: `{typos: 0.1}`."""
    index: AnyIndex | None = None
    """How tasks of retrieval search the documents: `hnsw` or `ivf`, approximate indexes of FAISS;
    null: all documents are compared with the query."""

    @property
    def content(self) -> dict[str, Any]:
        """What a trained network depends on, as plain data: all but the noise in the reported
        examples, and their search."""
        return self.model_dump(exclude={"perturb", "index"})
