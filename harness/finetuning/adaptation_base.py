"""What all adaptation methods declare."""

from typing import Any, ClassVar

from pydantic import model_validator

from harness.core.config import ConfigModel


class Adaptation(ConfigModel):
    """Which parameters are trained on a task, and which are added."""

    kind: str
    trains: ClassVar[bool] = True
    """Whether anything is trained."""
    whole: ClassVar[bool] = False
    """Whether weights of the pretrained network are trained."""

    @property
    def trains_matrices(self) -> bool:
        """Whether matrices of the pretrained network are trained, not its vectors alone."""
        return self.whole

    @property
    def trains_embeddings(self) -> bool:
        """Whether its token embeddings are trained."""
        return self.whole

    @property
    def problem(self) -> str:
        """Why the fields do not go together; empty if they do."""
        return ""

    @model_validator(mode="after")
    def _consistent(self) -> "Adaptation":
        if self.problem:
            raise ValueError(self.problem)
        return self

    @property
    def content(self) -> Any:
        """The part of stage keys: all set fields, or the kind alone if it has no set fields."""
        fields = self.model_dump(exclude_none=True)
        return fields if set(fields) > {"kind"} else self.kind

    @property
    def label(self) -> str:
        """The kind with its non-default fields: `lora rank=4`."""
        fields = self.model_dump(exclude={"kind"}, exclude_defaults=True)
        return " ".join([self.kind, *(f"{name}={value}" for name, value in fields.items())])
