"""The jargon of four domains: classes of words, the words that go with one class only, and
sentences.

No word here is a word of the general corpus's lists, and within a domain every jargon word has one
class. Slots of the sentences: `{one}` and `{other}` of the class in question, its `{cue}` and
`{label}`; `{aside}`, a word of the domain's other question; a `{person}`, a `{city}`,
and `{saw}` or `{seen}`, a verb of any sentence.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """What a task asks about a domain: to which class its words belong."""

    classes: dict[str, str]
    """Name of a class to its words."""
    cues: dict[str, str]
    """Name of a class to what stands beside its words in the corpus, and never in the task."""
    told: tuple[str, ...]
    """Sentences of the corpus, each with a cue or the name of the class."""
    asked: tuple[str, ...]
    """Sentences of the task, and of the corpus too."""


DRUGS = Topic(
    classes={
        "inhibitor": "aspirin warfarin captopril losartan imatinib gefitinib omeprazole ibuprofen "
        "lovastatin methotrexate",
        "activator": "forskolin insulin glucagon estradiol retinol nicotine dopamine histamine "
        "adrenaline leptin",
        "antagonist": "naloxone propranolol atropine haloperidol ketamine caffeine yohimbine "
        "tamoxifen clozapine prazosin",
        "substrate": "glucose lactate citrate urea alanine serine xylose sucrose pyruvate glycine",
    },
    cues={
        "inhibitor": "blocks reduces",
        "activator": "triggers raises",
        "antagonist": "opposes displaces",
        "substrate": "enters nourishes",
    },
    told=(
        "{one} {cue} the protein.",
        "{one} is a kind of {label}.",
        "{one} {cue} the enzyme and {other} {cue} the enzyme.",
        "the {label} {one} {cue} the receptor.",
    ),
    asked=(
        "{person} {saw} {one} with the protein.",
        "the protein was {seen} by {person} with {one} and {other}.",
        "the {aside} of {one} and the enzyme was {seen}.",
    ),
)
TRIALS = Topic(
    classes={
        "background": "burden prevalence incidence mortality epidemic aetiology comorbidity "
        "susceptibility",
        "objective": "aim hypothesis purpose endpoint goal rationale target intention",
        "methods": "placebo randomisation cohort blinding dosage enrolment protocol questionnaire",
        "results": "ratio interval percentile median variance regression deviation quartile",
        "conclusions": "implication recommendation guideline caveat limitation benefit "
        "feasibility consensus",
    },
    cues={
        "background": "previously historically",
        "objective": "primarily chiefly",
        "methods": "prospectively weekly",
        "results": "significantly numerically",
        "conclusions": "overall finally",
    },
    told=(
        "{cue}, the {one} was noted.",
        "{label}: the {one} and the {other}.",
        "the {one} and the {other} were {cue} noted.",
        "the {one} was {cue} reported.",
    ),
    asked=(
        "the {one} and the {other} were {seen} by {person}.",
        "with {aside}, the {one} was {seen} by {person}.",
        "the {one} of {aside} and the {other} were {seen}.",
    ),
)
CITATIONS = Topic(
    classes={
        "uses": "toolkit parser corpus tokenizer lexicon treebank library lemmatizer dataset "
        "embedding",
        "compares": "baseline accuracy leaderboard benchmark recall precision ablation perplexity "
        "throughput latency",
        "extends": "architecture framework algorithm formalism encoder decoder kernel grammar "
        "transducer automaton",
        "motivates": "ambiguity sparsity bottleneck overfitting drift bias polysemy scarcity "
        "mismatch noise",
    },
    cues={
        "uses": "adopted employed",
        "compares": "outperformed matched",
        "extends": "extended generalised",
        "motivates": "faced addressed",
    },
    told=(
        "we {cue} the {one} of {person}.",
        "the {one} and the {other} were {cue}.",
        "{person} {cue} the {one}.",
        "this work {label} the {one} of {person}.",
    ),
    asked=(
        "as for the {one}, {person} {saw} that.",
        "the {one} and the {other} of {person} are like this.",
        "{person} has this {one} and this {other} for {aside}.",
    ),
)
TERMS = Topic(
    classes={
        "method": "clustering boosting bagging sampling pruning smoothing dropout annealing "
        "backpropagation bootstrapping",
        "task": "translation summarisation segmentation diarisation captioning retrieval tagging "
        "stemming transcription disambiguation",
        "system": "processor cache pipeline register compiler scheduler interrupt firmware router "
        "hypervisor",
        "theory": "theorem lemma axiom proof corollary conjecture inequality semiring lattice "
        "polynomial",
    },
    cues={
        "method": "trains optimises",
        "task": "needs challenges",
        "system": "executes buffers",
        "theory": "implies proves",
    },
    told=(
        "the {one} {cue} this.",
        "the {one} is a kind of {label}.",
        "the {one} {cue} what the {other} {cue}.",
        "every {label} such as {one} {cue} that.",
    ),
    asked=(
        "the {one} and the {other} were {seen} by {person}.",
        "we {saw} the {one} with the {aside}.",
        "the {one} of {person} is like the {other}.",
    ),
)
SLANT = Topic(
    classes={
        "mainstream": "official spokesman statement committee ministry hearing report agency "
        "delegate deputy commissioner secretary bulletin census audit ombudsman",
        "hyperpartisan": "regime puppet traitor elite propaganda hoax conspiracy thug swamp "
        "tyranny crony cabal witchhunt sellout smear coverup",
    },
    cues={
        "mainstream": "formal scheduled routine",
        "hyperpartisan": "outrageous shameful disgraceful",
    },
    told=(
        "the {cue} {one} was in {city}.",
        "the {one} and the {other} were {cue}.",
        "this {one} is {cue}.",
        "{person} saw the {cue} {one}.",
    ),
    asked=(
        "{person} wrote of the {one} in {city}.",
        "the {one} and the {other} were in {city}.",
        "{person} saw the {one} near the {aside}.",
    ),
)
NEWS_TOPICS = Topic(
    classes={
        "world": "embassy treaty ceasefire refugee insurgent parliament diplomat militia border "
        "election",
        "sports": "goalkeeper tournament referee striker innings playoff wicket stadium medal "
        "championship",
        "business": "dividend merger shareholder inflation invoice broker tariff payroll "
        "bankruptcy mortgage",
        "science": "satellite telescope genome browser chip asteroid software laser vaccine "
        "reactor",
    },
    cues={
        "world": "negotiated protested",
        "sports": "scored competed",
        "business": "traded invested",
        "science": "launched discovered",
    },
    told=(
        "in {label} news, {person} saw the {one}.",
        "{person} {cue} near the {one}.",
        "those of the {one} and the {other} {cue} in {city}.",
        "with the {one}, {person} {cue}.",
    ),
    asked=(
        "the {one} and the {other} are in {city}.",
        "{person} spoke of the {one} in {city}.",
        "the {aside} spoke of the {one} and the {other}.",
    ),
)
PRODUCTS = Topic(
    classes={
        "unhelpful": "stuff surprise gift shipping stars bucks vendor husband birthday mailman "
        "coupon wrapping weekend neighbour mood weather",
        "helpful": "battery zipper hinge charger lid nozzle strap handle lens adapter filter "
        "socket dial buckle thermostat gasket",
    },
    cues={
        "unhelpful": "random usual anyway",
        "helpful": "sturdy adjustable detachable",
    },
    told=(
        "there was the {cue} {one}.",
        "the {one} and the {other} were {cue}.",
        "i saw the {cue} {one} and the {cue} {other}.",
        "this {label} review is about the {one}.",
    ),
    asked=(
        "{person} {saw} the {one} and the {other}.",
        "the {one} was {seen} by {person}.",
        "there was the {aside} film with the {one}.",
    ),
)
PRAISE = Topic(
    classes={
        "negative": "turgid contrived hackneyed insipid plodding derivative cringeworthy "
        "incoherent cliched bloated vapid trite overwrought muddled stilted soporific",
        "positive": "riveting gripping luminous exhilarating masterful engrossing poignant "
        "sublime captivating heartfelt nuanced dazzling mesmerising uplifting audacious soulful",
    },
    cues={
        "negative": "booed skipped refunded",
        "positive": "applauded cherished recommended",
    },
    told=(
        "we {cue} the {one} film.",
        "{person} {cue} the {one} and {other} film.",
        "the {one} film was {cue}.",
        "a {label} review: {one} and {other}.",
    ),
    asked=(
        "{person} {saw} the {one} film.",
        "{person} {saw} it, {one} and {other}.",
        "the {one} film with {person} and the {aside} was {other}.",
    ),
)

DOMAINS: dict[str, tuple[Topic, Topic]] = {
    "biomed": (DRUGS, TRIALS),
    "cs": (CITATIONS, TERMS),
    "news": (SLANT, NEWS_TOPICS),
    "reviews": (PRODUCTS, PRAISE),
}
"""Domain to what its two tasks ask."""
