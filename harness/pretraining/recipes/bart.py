"""BART large: Lewis et al. 2020, ACL; where the paper is silent, its authors' command
(facebookresearch/fairseq, issue 1899)."""

from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import TOKENIZERS
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import WholeText
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

bart = Pretrain(
    recipe="bart",
    corpus=MicroworldCorpus(),  # section 5.1: 160 GB, as RoBERTa's
    tokenizer=TOKENIZERS["byte_bpe"],  # section 5.1: GPT-2's BPE, as RoBERTa's
    packing=Packing(format="full_sentences"),
    objective=Objective(
        transform=Denoising(
            infill_rate=0.3,  # section 5.1, as permute_sentences
            permute_sentences=1.0,
            poisson_lambda=3.0,  # section 2.2; the command has 3.5
        ),
        representation="encoder_decoder",
        output=WholeText(),
    ),
    # Dropout of the command; the paper ends it for the last tenth (section 5.1), which we do not.
    model=Architecture(
        family="bart", max_position=1024, dropout=0.1, attention_dropout=0.1, initializer_range=0.02
    ),
    size=SIZES["half_large"],  # section 5.1: 12 layers each, 1024
    optimizer=Optimizer(
        learning_rate=4e-4,  # the command, as weight_decay and max_grad_norm
        weight_decay=0.01,
        max_grad_norm=0.1,
        beta2=0.98,  # as RoBERTa's (Liu et al. 2019, section 3.1), not published, as the next
        eps=1e-6,
    ),
    schedule=Schedule(warmup_fraction=10_000 / 500_000),  # the command
    phases=(Phase(fraction=1.0, sequence_length=512),),  # as RoBERTa's (section 5.1)
    batch_size=8000,  # section 5.1, as the next
    budget=Budget(steps=500_000),
)
