"""AXIS: published pretraining recipes, one file each.

A recipe is a `Pretrain` value; a variant is its base recipe with the changed fields.
"""

from harness.pretraining.recipes.albert import albert
from harness.pretraining.recipes.bag_of_words import bag_of_words
from harness.pretraining.recipes.bart import bart
from harness.pretraining.recipes.bert import bert
from harness.pretraining.recipes.cbow import cbow
from harness.pretraining.recipes.checkpoint import checkpoint
from harness.pretraining.recipes.coco_lm import coco_lm
from harness.pretraining.recipes.codet5 import codet5
from harness.pretraining.recipes.copy_source import copy_source
from harness.pretraining.recipes.deberta import deberta
from harness.pretraining.recipes.deberta_v3 import deberta_v3
from harness.pretraining.recipes.distilbert import distilbert
from harness.pretraining.recipes.electra import electra, electra_mlm
from harness.pretraining.recipes.elmo import elmo
from harness.pretraining.recipes.gemma import gemma
from harness.pretraining.recipes.glove import glove
from harness.pretraining.recipes.gpt import gpt
from harness.pretraining.recipes.gpt2 import gpt2
from harness.pretraining.recipes.gpt3 import gpt3
from harness.pretraining.recipes.lead import lead
from harness.pretraining.recipes.llama import llama
from harness.pretraining.recipes.llama2 import llama2
from harness.pretraining.recipes.llama3 import llama3
from harness.pretraining.recipes.lm_lstm import lm_lstm
from harness.pretraining.recipes.majority import majority
from harness.pretraining.recipes.minilm import minilm
from harness.pretraining.recipes.mistral import mistral
from harness.pretraining.recipes.modernbert import modernbert
from harness.pretraining.recipes.mt5 import mt5
from harness.pretraining.recipes.opt import opt
from harness.pretraining.recipes.plbart import plbart
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.recipes.qwen import qwen
from harness.pretraining.recipes.roberta import roberta
from harness.pretraining.recipes.sa_lstm import sa_lstm
from harness.pretraining.recipes.skip_thought import skip_thought
from harness.pretraining.recipes.skipgram import skipgram
from harness.pretraining.recipes.spanbert import spanbert
from harness.pretraining.recipes.t5 import t5
from harness.pretraining.recipes.t5_v1_1 import t5_v1_1
from harness.pretraining.recipes.tinybert import tinybert
from harness.pretraining.recipes.transformer import transformer
from harness.pretraining.recipes.ul2 import ul2
from harness.pretraining.recipes.unilm import unilm
from harness.pretraining.recipes.xlnet import xlnet

RECIPES: dict[str, Pretrain] = {
    "bert": bert,
    "roberta": roberta,
    "albert": albert,
    "spanbert": spanbert,
    "electra": electra,
    "electra_mlm": electra_mlm,
    "coco_lm": coco_lm,
    "deberta": deberta,
    "deberta_v3": deberta_v3,
    "distilbert": distilbert,
    "tinybert": tinybert,
    "minilm": minilm,
    "modernbert": modernbert,
    "xlnet": xlnet,
    "unilm": unilm,
    "gpt": gpt,
    "gpt2": gpt2,
    "gpt3": gpt3,
    "opt": opt,
    "llama": llama,
    "llama2": llama2,
    "llama3": llama3,
    "mistral": mistral,
    "qwen": qwen,
    "gemma": gemma,
    "t5": t5,
    "t5_v1_1": t5_v1_1,
    "mt5": mt5,
    "codet5": codet5,
    "bart": bart,
    "plbart": plbart,
    "ul2": ul2,
    "transformer": transformer,
    "lm_lstm": lm_lstm,
    "sa_lstm": sa_lstm,
    "elmo": elmo,
    "skip_thought": skip_thought,
    "cbow": cbow,
    "skipgram": skipgram,
    "glove": glove,
    "bag_of_words": bag_of_words,
    "majority": majority,
    "lead": lead,
    "copy_source": copy_source,
    "checkpoint": checkpoint,
}
