"""Diagnostics of fine-tuning runs: changes of weights and states, gradients, losses, scores and
attribution."""

TRAIN_SCORES = "train_scores"
CHANGED_WORDS = "changed_words"
STRONGEST, CHANCE = "strongest", "chance"
"""Names of the values of CHANGED_WORDS."""
ATTRIBUTED = (
    *("bert", "roberta", "albert", "electra", "distilbert", "gpt", "gpt2", "opt", "gpt_neo"),
    "lstm",
)
"""Families with CHANGED_WORDS: position embeddings are added to those of tokens before any norm, or
there is no norm. Elsewhere a norm reads the tokens alone and undoes their scale, so that the whole
integral lies in the last step before zero embeddings, and gradient times input is zero."""
AFTER_TRAINING = (TRAIN_SCORES, CHANGED_WORDS)
"""The diagnostics that are measured after training; the others are recorded during it."""
AUXILIARY_WEIGHTS = "auxiliary_weights"
"""The diagnostic of `finetune.auxiliary`."""

DIAGNOSTICS: dict[str, str] = {
    "weight_change": "||W_after - W_before|| / ||W_before|| over the matrices of each layer",
    "gradient_norms": "norm of the gradient of each layer's trained parameters, before clipping, "
    "mean over the updates",
    "first_gradient_norms": "the same, mean over the first 10 of them",
    "similarity": "linear CKA of each layer's states before and after, the mean over the tokens of "
    "each input, on the hold-out (Kornblith et al. 2019, section 3)",
    "effective_rank": "exp of the entropy of the singular values of the change of each matrix (Roy "
    "and Vetterli 2007), mean over the matrices of each layer",
    "loss_curve": "training loss of each update",
    AUXILIARY_WEIGHTS: "weights of the losses of the task and of auxiliary objectives in each "
    "update",
    TRAIN_SCORES: "main metric on at most 1,000 of the examples that the run was trained on, after "
    "it",
    CHANGED_WORDS: "share of pairs in which the token with the largest attribution (integrated "
    "gradient, Sundararajan et al. 2017) is of a word that the other text lacks, and the share "
    "expected by chance, on the hold-out",
}
"""Name to description. Layers are named as in `harness.models.layers`."""

DIAGNOSTICS_FILE = "records.parquet"
DIAGNOSTICS_COLUMNS = ["record", "layer", "name", "value", "step"]
"""Columns of the recorded frame: `step` counts updates from 1; values of the whole run have an
empty `layer` or a null `step`."""
