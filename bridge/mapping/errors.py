"""Why a message cannot become a record."""

from __future__ import annotations


class MappingError(ValueError):
    """A message that is refused, alone; its link goes on.

    `condition` is the AMQP error condition for the outcome rejected (`amqp:decode-error`,
    `amqp:invalid-field`, `amqp:not-allowed`, `amqp:not-implemented` or
    `amqp:resource-limit-exceeded`), `description` a sentence for the sender.
    """

    def __init__(self, condition: str, description: str) -> None:
        super().__init__(f"{condition}: {description}")
        self.condition = condition
        self.description = description
