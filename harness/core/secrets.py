"""Passwords, tokens and keys, which nothing that is printed or written may show."""

import logging
import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

MASK = "***"
USER = re.compile(r"(?<=://)[^/\s]+(?=@)")
"""User and password in an address. A user alone may be a token."""
QUERY = re.compile(
    r"([?&][\w-]*(?:password|passwd|token|secret|signature|api_?key)=)[^&\s'\"]+", re.IGNORECASE
)
VARIABLE = re.compile(r"(PASSWORD|PASSWD|TOKEN|SECRET|API_?KEY|ACCESS_KEY)$", re.IGNORECASE)
"""End of the names of environment variables that hold a secret, such as HF_TOKEN."""
LEAST_LENGTH = 8
"""Characters of a secret that is masked wherever it stands; shorter ones may be ordinary words."""


def mask(text: str) -> str:
    """`text` with `***` for user and password of addresses, for secrets in their queries, and for
    the secrets of this process's environment."""
    text = QUERY.sub(rf"\1{MASK}", USER.sub(MASK, text))
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets() -> Iterator[str]:
    """Values of variables that are secret, and the passwords of addresses, as they are written and
    without percent encoding."""
    for name, value in os.environ.items():
        found = [value] if VARIABLE.search(name) else []
        found += [user[0].partition(":")[2] for user in USER.finditer(value)]
        for secret in (*found, *map(unquote, found)):
            if len(secret) >= LEAST_LENGTH:
                yield secret


class MaskFilter(logging.Filter):
    """Masks the messages of a logging handler, for libraries that log addresses."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Masks a message; every one is logged."""
        record.msg, record.args = mask(record.getMessage()), ()
        return True
