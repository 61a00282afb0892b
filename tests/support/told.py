"""What a sender is told of its messages, in full: states, conditions, and what their info says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from proton import UNDESCRIBED, Array, Data, Link, symbol
from proton.reactor import LinkOption
from support.clients import MODES, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proton import Delivery, Message, Sender
    from proton.utils import BlockingSender
    from support.blocking import Client

ALL: Final = ("accepted", "rejected", "released", "modified")
"""The outcomes that Qpid JMS and vertx-proton list when they attach."""


class Lists(LinkOption):
    """Lists outcomes in the source of the attach, by their symbols (core 3.5.3)."""

    def __init__(self, *outcomes: str) -> None:
        self._symbols = [symbol(f"amqp:{name}:list") for name in outcomes]

    def apply(self, link: Link) -> None:
        """Set them."""
        link.source.outcomes.put_object(Array(cast("Any", UNDESCRIBED), Data.SYMBOL, *self._symbols))


class Properties(LinkOption):
    """Attaches with link properties."""

    def __init__(self, properties: dict[str, object]) -> None:
        self._properties: Any = {symbol(name): value for name, value in properties.items()}

    def apply(self, link: Link) -> None:
        """Set them."""
        link.properties = self._properties


class Encoded:
    """A payload as it is, which may be no message; Proton's `Sender.send` takes it."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def send(self, sender: Sender, tag: str | None = None) -> Delivery:
        """Send it on a link."""
        delivery = sender.delivery(tag or sender.delivery_tag())
        sender.stream(self._payload)
        sender.advance()
        if sender.snd_settle_mode == sender.SND_SETTLED:
            delivery.settle()
        return delivery


@dataclass(frozen=True, slots=True)
class Told:
    """What was told of one message. `failed` is delivery-failed, of modified."""

    state: str
    condition: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    failed: bool = False

    def has(self, **info: object) -> bool:
        """Tell whether the info says so; `_` in the names stands for `-`."""
        return all(self.info.get(name.replace("_", "-")) == value for name, value in info.items())


def attach(client: Client, address: str | None, *options: LinkOption, mode: str = "unsettled") -> Any:  # noqa: ANN401 - proton's sender
    """Attach a sender with options; None is the anonymous terminus."""
    all_options: Any = [MODES[mode], *options]
    return client.connection.create_sender(address, name=client.link_name(), options=all_options)


def sent(sender: BlockingSender, messages: Sequence[Message | Encoded]) -> list[Any]:
    """Send without waiting; gives the deliveries."""
    return [sender.link.send(cast("Any", message)) for message in messages]


def told(client: Client, deliveries: Sequence[Any]) -> list[Told]:
    """Wait for the outcomes of all."""
    client.wait(lambda: all(delivery.settled for delivery in deliveries), "the outcomes")
    return [_read(delivery) for delivery in deliveries]


def answers(
    client: Client, address: str | None, messages: Sequence[Message | Encoded], *options: LinkOption
) -> list[Told]:
    """Send all on one link, and wait for the outcomes."""
    return told(client, sent(attach(client, address, *options), messages))


def _read(delivery: Any) -> Told:  # noqa: ANN401 - proton's delivery
    condition = delivery.remote.condition
    state = state_of(delivery)
    failed = bool(delivery.remote.failed) if state == "MODIFIED" else False
    if condition is None:
        return Told(state, failed=failed)
    info = {str(name): value for name, value in (condition.info or {}).items()}
    return Told(state, condition.name, info, failed)
