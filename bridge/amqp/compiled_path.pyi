from collections.abc import Iterable

from bridge.amqp.contract import AnyLink
from bridge.amqp.links import OutgoingLink
from bridge.amqp.native import CData
from bridge.amqp.usual_path import Failed

def take_usual(
    collector: CData,
    links: dict[CData, AnyLink],
    touched: list[AnyLink],
    incoming_kind: type,
    failed: Failed,
    /,
) -> None: ...
def send(self: OutgoingLink, tag: bytes, payload: bytes) -> CData: ...
def send_settled(self: OutgoingLink, tag: bytes, payload: bytes) -> None: ...
def settle_all(deliveries: Iterable[CData]) -> None: ...
def accept(deliveries: Iterable[CData], *, settles: bool) -> None: ...
