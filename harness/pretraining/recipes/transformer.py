"""The Transformer, base: Vaswani et al. 2017, NeurIPS. It is trained on translation alone, which is
fine-tuning here, so nothing is pretrained; the settings of its training are those of a pretraining
to which a budget is given."""

from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

WIDTH, WARMUP, STEPS = 512, 4000, 100_000  # table 3; section 5.3; section 5.2
LENGTH = 128

transformer = Pretrain(
    recipe="transformer",
    corpus=MicroworldCorpus(),  # section 5.1: WMT 2014; here the text that the vocabulary is of
    # Section 5.1: byte-pair encoding, about 37,000 tokens for both languages.
    tokenizer=Tokenizer(algorithm="bpe", vocab_size=37_000, lowercase=False),
    packing=Packing(format="full_sentences"),
    objective=OBJECTIVES["denoising"],  # without a budget of its own never used, as phases
    # No dropout of attention (section 5.4). The initial weights are not published: here the
    # deviation of embeddings in tensor2tensor (layers/modalities.py). The table of sines is finite.
    model=Architecture(
        family="transformer",
        max_position=1024,
        dropout=0.1,
        attention_dropout=0.0,
        initializer_range=round(WIDTH**-0.5, 4),
    ),
    size=SIZES["transformer_base"],  # table 3
    optimizer=Optimizer(  # section 5.3: Adam
        learning_rate=float(f"{(WIDTH * WARMUP) ** -0.5:.2g}"),  # equation 3, the highest
        beta1=0.9,
        beta2=0.98,
        eps=1e-9,
        weight_decay=0.0,
        max_grad_norm=0.0,
    ),
    # Section 5.3; there the rate rises during the warmup, here it is constant, as T5's.
    schedule=Schedule(warmup_fraction=WARMUP / STEPS, decay="inverse_sqrt"),
    phases=(Phase(fraction=1.0, sequence_length=LENGTH),),
    batch_size=25_000 // LENGTH,  # section 5.1: about 25,000 tokens of either language
    budget=Budget(tokens=0),
)
