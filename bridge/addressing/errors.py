"""The one error of addressing."""

from __future__ import annotations


class AddressError(ValueError):
    """An address that cannot be served.

    `condition` is the AMQP symbol for the peer and `description` a sentence for people, which
    shows the form that is expected; `former` is the name that the bridge before this one had for it.
    """

    def __init__(self, condition: str, description: str, former: str = "") -> None:
        super().__init__(f"{condition}: {description}")
        self.condition = condition
        self.description = description
        self.former = former
