"""Translation from English: WMT14 to German and French, WMT16 to Romanian, Multi30k to German.

`bleu_intl` has the tokenisation of T5's scores (Raffel et al. 2020, section 2.4), `bleu` the
default of SacreBLEU (13a); the two are not comparable.
"""

from harness.tasks.task import VALIDATION_AND_TEST, HubData, Suite, Task, main_columns

METRICS = ("bleu", "bleu_intl")


def _wmt(name: str, data: HubData, target: str, train_size: int, citation: str) -> Task:
    return Task(
        name=name,
        kind="generation",
        data=data,
        prepare="languages",
        text_fields=("en",),
        label_field=target,
        evaluation=VALIDATION_AND_TEST,
        metrics=METRICS,
        train_size=train_size,
        licence="mixed, by source",
        citation=citation,
    )


def _wmt14(config: str) -> HubData:
    return HubData(
        path="wmt/wmt14", config=config, revision="b199e406369ec1b7634206d3ded5ba45de2fe696"
    )


WMT16 = HubData(
    path="wmt/wmt16", config="ro-en", revision="41d8a4013aa1489f28fea60ec0932af246086482"
)

TRANSLATION_TASKS: tuple[Task, ...] = (
    _wmt("wmt_ende", _wmt14("de-en"), "de", 4_508_785, "Bojar et al. 2014, WMT"),
    _wmt("wmt_enfr", _wmt14("fr-en"), "fr", 40_836_715, "Bojar et al. 2014, WMT"),
    _wmt("wmt_enro", WMT16, "ro", 610_320, "Bojar et al. 2016, WMT"),
    Task(
        name="multi30k_ende",
        kind="generation",
        data=HubData(path="bentrevett/multi30k"),  # its commit could not be established
        text_fields=("en",),
        label_field="de",
        evaluation=VALIDATION_AND_TEST,
        metrics=METRICS,
        train_size=29_000,
        licence="Flickr terms of use, non-commercial",
        citation="Elliott et al. 2016, Multi30K, Workshop on Vision and Language",
    ),
)

TRANSLATION_V1 = Suite(
    name="translation-v1",
    columns=main_columns(TRANSLATION_TASKS, "test"),
    citation="Bojar et al. 2014 and 2016, WMT; Elliott et al. 2016",
)
