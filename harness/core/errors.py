"""Errors of what others have added to a registry."""

from collections.abc import Callable
from typing import Any


class MemberError(ValueError):
    """A member of a registry does not do what its registry asks for.

    `functions` are those that may be the reason; `plugins.error_line` adds the place of the first
    one that a plug-in defines.
    """

    def __init__(self, message: str, *functions: Callable[..., Any]) -> None:
        super().__init__(message)
        self.functions = functions
