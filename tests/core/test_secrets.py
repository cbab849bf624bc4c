"""Secrets are masked wherever they stand, and nothing else is."""

import logging

import pytest

from harness.core.secrets import MaskFilter, mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("open http://me:pass@host:5000/a", "open http://***@host:5000/a"),
        ("postgresql+psycopg2://me:p@ss@host/db", "postgresql+psycopg2://***@host/db"),
        ("https://hf_abc@host/x failed", "https://***@host/x failed"),
        ("'a://b:c@d', \"e://f:g@h\"", "'a://***@d', \"e://***@h\""),
        ("http://host/?user=me&sslpassword=abc&b=1", "http://host/?user=me&sslpassword=***&b=1"),
        ("http://host/?X-Amz-Signature=12 3", "http://host/?X-Amz-Signature=*** 3"),
        ("a mail to me@host, and http://host/@me", "a mail to me@host, and http://host/@me"),
        ("s3://bucket/key, file:///a b", "s3://bucket/key, file:///a b"),
    ],
)
def test_addresses(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_secrets_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_planted1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted/2/planted")
    monkeypatch.setenv("SOME_ADDRESS", "http://me:planted%213@host")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "ordinary1")
    monkeypatch.setenv("ANY_PASSWORD", "word")  # would hide ordinary words
    text = "hf_planted1, planted/2/planted, planted%213, planted!3, ordinary1, a word"
    assert mask(text) == "***, ***, ***, ***, ordinary1, a word"


def test_a_secret_that_begins_another_leaves_no_rest_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_TOKEN", "planted1")  # as short as is masked
    monkeypatch.setenv("TWO_TOKEN", "planted1-and-more")
    assert mask("planted1-and-more, planted1") == "***, ***"


def test_messages_of_loggers_are_masked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(MaskFilter())
    logging.getLogger("any").warning("no connection to %s", "http://me:pass@host")
    assert caplog.messages == ["no connection to http://***@host"]
