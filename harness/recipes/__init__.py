"""AXIS: published bundles. A recipe is a value; a variant is the base with the changed lines."""

from harness.recipes.albert import albert
from harness.recipes.bag_of_words import bag_of_words
from harness.recipes.bart import bart
from harness.recipes.bert import bert
from harness.recipes.cbow import cbow
from harness.recipes.checkpoint import checkpoint
from harness.recipes.copy_source import copy_source
from harness.recipes.deberta import deberta
from harness.recipes.deberta_v3 import deberta_v3
from harness.recipes.distilbert import distilbert
from harness.recipes.electra import electra, electra_mlm
from harness.recipes.elmo import elmo
from harness.recipes.gpt import gpt
from harness.recipes.gpt2 import gpt2
from harness.recipes.lead import lead
from harness.recipes.llama import llama
from harness.recipes.majority import majority
from harness.recipes.modernbert import modernbert
from harness.recipes.pretrain import Phase, Pretrain
from harness.recipes.roberta import roberta
from harness.recipes.spanbert import spanbert
from harness.recipes.t5 import t5
from harness.recipes.t5_v1_1 import t5_v1_1
from harness.recipes.tinybert import tinybert
from harness.recipes.ul2 import ul2
from harness.recipes.xlnet import xlnet

RECIPES: dict[str, Pretrain] = {
    "bert": bert,
    "roberta": roberta,
    "albert": albert,
    "spanbert": spanbert,
    "electra": electra,
    "electra_mlm": electra_mlm,
    "deberta": deberta,
    "deberta_v3": deberta_v3,
    "distilbert": distilbert,
    "tinybert": tinybert,
    "modernbert": modernbert,
    "xlnet": xlnet,
    "gpt": gpt,
    "gpt2": gpt2,
    "llama": llama,
    "t5": t5,
    "t5_v1_1": t5_v1_1,
    "bart": bart,
    "ul2": ul2,
    "elmo": elmo,
    "cbow": cbow,
    "bag_of_words": bag_of_words,
    "majority": majority,
    "lead": lead,
    "copy_source": copy_source,
    "checkpoint": checkpoint,
}

__all__ = ["RECIPES", "Phase", "Pretrain"]
