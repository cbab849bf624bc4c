"""The words of the micro-world, from which each world draws its own (`world.py`).

Every open word is in one list only, so that its class is a fact.
"""

NOUNS: dict[str, str] = {
    "animal": "dog/hound rabbit/bunny donkey/burro pig/hog horse/steed cougar/puma monkey/ape "
    "skunk/polecat bear/bruin cat/kitty",
    "worker": "doctor/physician lawyer/attorney teacher/tutor waiter/steward sailor/mariner "
    "singer/vocalist trader/merchant farmer/grower author/writer guard/sentry",
    "vehicle": "car/automobile truck/lorry bus/coach cart/wagon taxi/cab bicycle/bike "
    "sledge/sled tram/streetcar plane/jet moped/scooter",
    "tool": "hammer/mallet spade/shovel axe/hatchet wrench/spanner bucket/pail "
    "torch/flashlight razor/shaver broom/brush chisel/gouge rope/cord",
    "garment": "coat/jacket hat/cap sweater/jumper shirt/blouse glove/mitten dress/gown "
    "sneaker/trainer vest/waistcoat belt/sash cloak/cape",
    "dish": "stew/goulash soup/broth pancake/flapjack cake/gateau cookie/biscuit bun/roll "
    "sausage/frankfurter pie/tart sandwich/sub pudding/custard",
}
"""Kind (the hypernym) to its concepts, each as two synonyms."""

SUBJECT_VERBS: dict[str, str] = {
    "animal": "growl graze",
    "worker": "complain apologise",
    "vehicle": "stall rattle",
    "tool": "rust bend/bent",
    "garment": "shrink/shrank wrinkle",
    "dish": "simmer burn",
}
"""Kind to verbs that only its members take as agents, in the notation of `parse_verb`."""

OBJECT_VERBS: dict[str, str] = {
    "animal": "feed/fed/fed ride/rode/ridden",
    "worker": "hire pay/paid/paid",
    "vehicle": "drive/drove/driven park",
    "tool": "sharpen grip/gripped/gripped",
    "garment": "wear/wore/worn iron",
    "dish": "eat/ate/eaten bake",
}
"""Kind to verbs that take only its members as objects."""

KIND_ADJECTIVES: dict[str, str] = {
    "animal": "furry wild",
    "worker": "busy skilled",
    "vehicle": "fast noisy",
    "tool": "blunt handy",
    "garment": "woollen knitted",
    "dish": "hot salty",
}
"""Kind to adjectives that only its members take."""

NEUTRAL_VERBS = (
    "see/saw/seen find/found/found buy/bought/bought sell/sold/sold lose/lost/lost "
    "draw/drew/drawn want remember"
)
"""Verbs that take any object."""


ADVERBS = {
    True: "wonderfully pleasantly beautifully admirably".split(),
    False: "terribly painfully horribly sadly".split(),
}
"""Whether positive, to adverbs of that polarity: the local cue for the polarity of adjectives."""

VERDICTS = {
    True: "loved enjoyed admired".split(),
    False: "hated disliked regretted".split(),
}
OPINIONS = {True: "good", False: "bad"}
NEUTRAL_ADVERBS = "very rather quite really".split()

FILM_ASPECTS = "plot acting script dialogue ending".split()
FOOD_ASPECTS = "sauce flavour crust filling dessert".split()

NEIGHBOURHOOD = "near beside behind".split()

OPEN_WORDS: dict[str, str] = {
    "positive": "lovely delightful excellent superb charming brilliant splendid marvellous "
    "graceful clever elegant perfect magical refined stunning tender touching witty polished "
    "satisfying exquisite thrilling amusing warm crisp balanced glorious radiant inspired "
    "memorable fresh rich",
    "negative": "awful dreadful dull boring clumsy stale bland ugly weak shallow tedious tasteless "
    "dismal lousy sloppy grim messy soggy poor pathetic annoying lifeless mediocre nasty bitter "
    "horrid gloomy flawed feeble vulgar wretched forgettable",
    "women": "mary anna lucy emma clara alice nora ruth helen julia sarah laura",
    "men": "tom john peter paul david henry frank oscar simon george martin robert",
    "colours": "red blue green yellow brown black white grey pink purple orange golden",
    "cities": "paris london oslo rome berlin madrid vienna lisbon athens dublin prague cairo",
}
"""Field of `Words` to its words, of which the train sets of a world use a part."""
