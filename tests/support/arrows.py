"""The arrows of a sequence diagram: read from mermaid, and seen on the wire.

What passes between an AMQP client and the bridge becomes arrows frame by frame, as a client sees it; the
frames of connections and sessions are left out. Kafka's side and the log add their arrows themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.frames import Frame

SENDER: Final = "AMQP sender"
RECEIVER: Final = "AMQP receiver"
RECEIVERS: Final = ("AMQP receiver 1", "AMQP receiver 2")
"""Where there are several."""
BRIDGE: Final = "Bridge"
KAFKA: Final = "Kafka"
LOG: Final = "Log"
_ALIASES: Final = {
    SENDER: "S",
    RECEIVER: "R",
    RECEIVERS[0]: "R1",
    RECEIVERS[1]: "R2",
    BRIDGE: "B",
    KAFKA: "K",
    LOG: "L",
}

_SETTLE_MODES: Final = ("unsettled", "settled", "mixed")
_OUTCOMES: Final = {0x24: "accepted", 0x25: "rejected", 0x26: "released", 0x27: "modified"}
_DISTRIBUTION_MODE: Final = 6
"""The place of this field in a source."""
_LEFT_OUT: Final = frozenset({"open", "begin", "end", "close"})

_BLOCK: Final = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARTICIPANT: Final = re.compile(r"participant (\w+) as ([\w ]+)")
_ARROW: Final = re.compile(r"(\w+)->>(\w+): (\S.*)")


class Arrow(NamedTuple):
    """One arrow: who tells whom what."""

    source: str
    target: str
    label: str


class DiagramError(ValueError):
    """A diagram says something that cannot be compared with anything."""


def read_diagram(text: str) -> list[Arrow]:
    """Read the one mermaid block of a document.

    Only participants and arrows are understood, so that nothing is drawn which is not compared.
    Raises DiagramError for anything else.
    """
    blocks = _BLOCK.findall(text)
    if len(blocks) != 1:
        raise DiagramError(f"a document has one diagram, not {len(blocks)}")
    first, *lines = (line.strip() for line in blocks[0].splitlines())
    if first != "sequenceDiagram":
        raise DiagramError(f"a sequenceDiagram is drawn, not {first!r}")
    names: dict[str, str] = {}
    arrows = []
    for line in lines:
        if participant := _PARTICIPANT.fullmatch(line):
            names[participant[1]] = participant[2]
        elif (arrow := _ARROW.fullmatch(line)) and arrow[1] in names and arrow[2] in names:
            arrows.append(Arrow(names[arrow[1]], names[arrow[2]], arrow[3]))
        else:
            raise DiagramError(f"neither a participant nor an arrow between two of them: {line!r}")
    return arrows


def write_diagram(arrows: Iterable[Arrow]) -> str:
    """Write the mermaid block that `read_diagram` reads as these arrows."""
    arrows = list(arrows)
    present = {name for arrow in arrows for name in arrow[:2]}
    lines = ["```mermaid", "sequenceDiagram"]
    lines += [f"    participant {alias} as {name}" for name, alias in _ALIASES.items() if name in present]
    lines += [f"    {_ALIASES[source]}->>{_ALIASES[target]}: {label}" for source, target, label in arrows]
    return "\n".join([*lines, "```"])


class Words(NamedTuple):
    """What a message is called, and what the arrow of its transfer says besides."""

    name: str
    besides: str = ""


def number(payload: bytes) -> Words:
    """Read a payload that is a number as text, perhaps with blanks around it."""
    return Words(payload.decode().strip())


class Trace:
    """The arrows of one link in the order in which they were seen. `client` is SENDER or RECEIVER.

    `read` says what a message is called; a further frame of one that has begun has its name.
    """

    def __init__(self, client: str, read: Callable[[bytes], Words] = number) -> None:
        self.arrows: list[Arrow] = []
        self._client = client
        self._read = read
        self._messages: dict[int, Words] = {}
        self._begun: Words | None = None

    def kafka(self, label: str, *, to_kafka: bool) -> None:
        """Add an arrow between the bridge and Kafka."""
        self.arrows.append(Arrow(BRIDGE, KAFKA, label) if to_kafka else Arrow(KAFKA, BRIDGE, label))

    def inside(self, label: str) -> None:
        """Add what happens in the bridge by itself."""
        self.arrows.append(Arrow(BRIDGE, BRIDGE, label))

    def log(self, label: str) -> None:
        """Add what operators are told."""
        self.arrows.append(Arrow(BRIDGE, LOG, label))

    def lost(self) -> None:
        """Add the end of the socket."""
        self.arrows.append(Arrow(self._client, BRIDGE, "connection lost"))

    def frame(self, frame: Frame) -> None:
        """Add a frame."""
        if frame.name not in _LEFT_OUT:
            label = self._label(frame)
            ends = (self._client, BRIDGE) if frame.to_bridge else (BRIDGE, self._client)
            self.arrows.append(Arrow(*ends, label))

    def _label(self, frame: Frame) -> str:
        fields = frame.fields
        match frame.name:
            case "attach":
                return f"attach ({_modes(frame)}{_copies(frame)})"
            case "flow" if "handle" in fields:
                drain = ", drain" if fields.get("drain") else ""
                return f"flow (credit {int(fields['link-credit'])}{drain})"
            case "transfer":
                return self._transfer(frame)
            case "disposition":
                first = self._messages[fields["first"]].name
                last = self._messages[fields.get("last", fields["first"])].name
                numbers = first if first == last else f"{first}-{last}"
                return f"disposition {numbers} ({_disposition(frame)})"
            case "detach":
                return f"detach ({frame.condition})" if frame.condition else "detach"
            case _:
                return f"{frame.name} {fields}"

    def _transfer(self, frame: Frame) -> str:
        fields = frame.fields
        words = self._begun or self._read(frame.payload)
        if self._begun is None:
            self._messages[fields["delivery-id"]] = words
        self._begun = words if fields.get("more") else None
        settled = "settled" if fields.get("settled") else "unsettled"
        more = ", more to come" if fields.get("more") else ""
        return f"transfer {words.name}{words.besides} ({settled}{more})"


def _modes(frame: Frame) -> str:
    modes = _SETTLE_MODES[frame.fields["snd-settle-mode"]]
    return f"{modes}, second" if frame.fields["rcv-settle-mode"] else modes


def _copies(frame: Frame) -> str:
    """Say what the source gives if that is copies (its distribution-mode, core 3.5.3)."""
    source = dict(enumerate(frame.fields["source"].value)) if "source" in frame.fields else {}
    return ", copy" if source.get(_DISTRIBUTION_MODE) == "copy" else ""


def _disposition(frame: Frame) -> str:
    settled = "settled" if frame.fields.get("settled") else "unsettled"
    if frame.state_code is None:
        return settled
    outcome = _OUTCOMES[frame.state_code]
    if outcome == "rejected":
        outcome += f" {frame.fields['state'].value[0].value[0]}"
    elif outcome == "modified":
        said = dict(enumerate(frame.fields["state"].value))
        outcome += " delivery-failed" * bool(said.get(0)) + " undeliverable-here" * bool(said.get(1))
        outcome += "".join(f" {key}: {value}" for key, value in (said.get(2) or {}).items())
    return f"{outcome}, {settled}"
