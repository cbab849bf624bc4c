"""What is known of the named corpora: source, licence, size, and what they stand for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CorpusFacts:
    """A corpus as its paper and its card on the Hub describe it."""

    title: str
    """What is read."""
    size: str
    """Of what is read, by its card unless the note says otherwise."""
    download_gb: float
    """Gigabytes to download; of the text, where the card does not say, which is more."""
    licence: str
    """As the card states it; that of the texts, where there is one, is the authors'."""
    citation: str
    note: str
    """How it differs from what the literature used, and how to read other parts."""
    stands_for: str = ""
    """The original in whose place it is read, because that is closed or gone."""


FACTS: dict[str, CorpusFacts] = {
    "microworld": CorpusFacts(
        title="Micro-world, generated",
        size="1M words by default",
        download_gb=0,
        licence="Apache 2.0",
        citation="this project",
        note="English-like documents from a seed; other sizes: num_tokens.",
    ),
    "wikitext2": CorpusFacts(
        title="WikiText-2",
        size="600 articles, 2.1M tokens",
        download_gb=0.01,
        licence="CC BY-SA 3.0, GFDL",
        citation="Merity et al. 2017, Pointer Sentinel Mixture Models, ICLR",
        note="Size: table 1 of the paper. Rare words are <unk>.",
    ),
    "wikitext103": CorpusFacts(
        title="WikiText-103",
        size="28k articles, 103M tokens",
        download_gb=0.5,
        licence="CC BY-SA 3.0, GFDL",
        citation="Merity et al. 2017, Pointer Sentinel Mixture Models, ICLR",
        note="Size: table 1 of the paper. Rare words are <unk>.",
    ),
    "wikipedia": CorpusFacts(
        title="Wikipedia, English",
        size="6.4M articles, 20 GB",
        download_gb=11.6,
        licence="CC BY-SA 3.0, GFDL",
        citation="Wikimedia Foundation, https://dumps.wikimedia.org",
        note="Dump of 1 November 2023. Other languages: config 20231101.de, "
        "20231101.simple, ... of the same path.",
    ),
    "bookcorpus": CorpusFacts(
        title="BookCorpusOpen",
        size="17,868 books, 6.8 GB",
        download_gb=6.8,
        licence="unknown",
        citation="Zhu et al. 2015, ICCV; Gao et al. 2020, The Pile, section 2.8",
        note="Size: Gao et al. 2020, table 1 (BookCorpus2, 6.3 GiB). The original has 11,038 books "
        "(Zhu et al. 2015, table 2); copies of it on the Hub have a sentence in each row, in lower "
        "case and without the ends of books. Books are under copyright. The commit is not pinned.",
        stands_for="BookCorpus (gone)",
    ),
    "openwebtext": CorpusFacts(
        title="OpenWebText",
        size="8.0M documents, 38 GB",
        download_gb=24.2,
        licence="CC0 1.0",
        citation="Gokaslan and Cohen 2019, OpenWebText Corpus; Radford et al. 2019, GPT-2",
        note="Pages linked from Reddit with 3 karma or more, as for WebText, which has 8M texts, "
        "40 GB (Radford et al. 2019, section 2.1).",
        stands_for="WebText (closed)",
    ),
    "cc_news": CorpusFacts(
        title="CC-News, English",
        size="708k articles",
        download_gb=1.1,
        licence="unknown",
        citation="Hamborg et al. 2017, news-please, ISI",
        note="RoBERTa read 63M articles, 76 GB (Liu et al. 2019, section 3.2), not released. "
        "The whole crawl in many languages: path stanford-oval/ccnews (unverified here).",
        stands_for="RoBERTa's CC-News",
    ),
    "stories": CorpusFacts(
        title="Stories, a copy",
        size="945k documents, 34 GB",
        download_gb=15.3,
        licence="CC, no version",
        citation="Trinh and Le 2018, A Simple Method for Commonsense Reasoning, arXiv 1806.02847",
        note="Copy of a third party, who calls it the original. Its size agrees with the 31 GB of "
        "Liu et al. 2019, section 3.2; the share held out there (splits dev, test) is not read.",
        stands_for="Stories (gone)",
    ),
    "one_billion_word": CorpusFacts(
        title="1B Word Benchmark",
        size="30M sentences, 0.8B words",
        download_gb=4.4,
        licence="unknown",
        citation="Chelba et al. 2014, Interspeech, arXiv 1312.3005",
        note="Shuffled sentences, each a document: no context beyond a sentence. The commit is one "
        "of refs/convert/parquet, because the repository itself holds a script.",
    ),
    "c4": CorpusFacts(
        title="C4, English",
        size="365M documents, 156B tokens",
        download_gb=305,
        licence="ODC-By 1.0",
        citation="Raffel et al. 2020, T5, JMLR; Dodge et al. 2021, EMNLP",
        note="Size: Dodge et al. 2021, table 1. The authors published a script; this is Dodge et "
        "al.'s run of it. Unfiltered: config en.noclean (2.3 TB).",
    ),
    "realnews": CorpusFacts(
        title="C4, RealNews-like",
        size="13.8M documents",
        download_gb=15,
        licence="ODC-By 1.0",
        citation="Raffel et al. 2020, T5, JMLR; Zellers et al. 2019, Grover, NeurIPS",
        note="C4's pages of RealNews' domains (Raffel et al. 2020, section 3.4.1). RealNews has "
        "120 GB of articles with metadata, of December 2016 to March 2019 (Zellers et al. 2019, "
        "section 3); C4 is of April 2019.",
        stands_for="RealNews (on request)",
    ),
    "mc4": CorpusFacts(
        title="C4, multilingual (mC4)",
        size="108 languages, 9.7 TB",
        download_gb=9700,
        licence="ODC-By 1.0",
        citation="Xue et al. 2021, mT5, NAACL",
        note="Files are in order of language, so a beginning is one language. For some languages, "
        "mix sources with config de, sw, ... of the same path; weights by size and temperature.",
    ),
    "fineweb_edu": CorpusFacts(
        title="FineWeb-Edu, sample",
        size="9.7M documents, 10B tokens",
        download_gb=28.5,
        licence="ODC-By 1.0",
        citation="Penedo et al. 2024, The FineWeb Datasets, NeurIPS",
        note="Larger samples: config sample-100BT, sample-350BT; all 1.3T tokens: default.",
    ),
    "pile": CorpusFacts(
        title="Pile Uncopyrighted",
        size="638 GiB",
        download_gb=335,
        licence="by part",
        citation="Gao et al. 2020, The Pile, arXiv 2101.00027",
        note="The Pile (825 GiB) without Books3, OpenWebText2, OpenSubtitles, BookCorpus2 and "
        "YoutubeSubtitles; size by table 1 of the paper. Reading it needs `pip install zstandard`.",
        stands_for="The Pile (taken down)",
    ),
    "slimpajama": CorpusFacts(
        title="SlimPajama, sample",
        size="5.5M documents, 6B tokens",
        download_gb=14,
        licence="not stated",
        citation="Soboleva et al. 2023, SlimPajama; Together 2023, RedPajama-Data",
        note="Sample of a third party. RedPajama (1.2T tokens) needs a script, which `datasets` no "
        "longer runs; SlimPajama is RedPajama deduplicated (627B tokens).",
        stands_for="SlimPajama (whole)",
    ),
    "s2orc": CorpusFacts(
        title="peS2o, openly licensed",
        size="6.1M papers, 183 GB",
        download_gb=183,
        licence="open, by paper",
        citation="Lo et al. 2020, S2ORC, ACL; Soldaini and Lo 2023, peS2o; "
        "Kandpal et al. 2025, The Common Pile, arXiv 2506.05209",
        note="Full papers of all fields. S2ORC needs an API key, allenai/peS2o (39M documents, 42B "
        "words) a script, which `datasets` no longer runs. DAPT's biomedical and computer science "
        "texts are parts of S2ORC (Gururangan et al. 2020, table 1).",
        stands_for="S2ORC (by API key)",
    ),
    "pubmed": CorpusFacts(
        title="PubMed abstracts, 2023",
        size="23.9M abstracts",
        download_gb=70,
        licence="NLM's terms",
        citation="Xiong et al. 2024, MedRAG, Findings of ACL, arXiv 2402.13178, table 2",
        note="Abstracts without titles; with titles: text_field contents (unverified here). NLM's "
        "own baseline is XML.",
    ),
    "amazon_reviews": CorpusFacts(
        title="Amazon Review Polarity",
        size="3.6M reviews, 1.6 GB",
        download_gb=1.1,
        licence="Apache 2.0, by the card",
        citation="McAuley and Leskovec 2013, RecSys; Zhang et al. 2015, arXiv 1509.01626; "
        "He and McAuley 2016, WWW",
        note="Reviews to March 2013 without those of three stars, and without titles; the commit "
        "is not pinned. DAPT reads 24.75M reviews to 2014 (Gururangan et al. 2020, table 1), whose "
        "files are no data set of the Hub.",
        stands_for="Amazon reviews of 2014",
    ),
    "code": CorpusFacts(
        title="CodeParrot, clean",
        size="5.4M files, 50 GB",
        download_gb=50,
        licence="by repository",
        citation="Tunstall et al. 2022, Natural Language Processing with Transformers, chapter 10",
        note="Python files of GitHub. Lines are read as sentences, without indentation. "
        "The Stack (bigcode/the-stack-smol) is gated: its terms must be accepted on the Hub.",
    ),
    "python_stdlib": CorpusFacts(
        title="Standard library",
        size="about 500 files, 7 MB",
        download_gb=0,
        licence="PSF-2.0",
        citation="Python Software Foundation, https://docs.python.org/3/library",
        note="Of the Python that runs; size: of Python 3.11. Without tests and the modules of the "
        "validation split of the tasks on Python. Lines are read as sentences, without "
        "indentation.",
    ),
    "tinystories": CorpusFacts(
        title="TinyStories",
        size="2.1M stories, 1.9 GB",
        download_gb=1.0,
        licence="CDLA-Sharing 1.0",
        citation="Eldan and Li 2023, TinyStories, arXiv 2305.07759",
        note="Generated by GPT-3.5 and GPT-4. Its split validation is not read.",
    ),
    "babylm": CorpusFacts(
        title="BabyLM 2026, strict",
        size="100M words",
        download_gb=0.6,
        licence="MIT; parts vary",
        citation="Warstadt et al. 2023, BabyLM Challenge, CoNLL",
        note="A row is a line, and so is a document. 10M words: path "
        "BabyLM-community/BabyLM-2026-Strict-Small. The corpora of 2023 and 2024 differ.",
    ),
}
"""Name in `CORPORA` to what is known of it."""
