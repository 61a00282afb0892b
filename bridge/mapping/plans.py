"""How the headers of a record become sections, worked out once for all records with the same names.

A plan is made from the names of a record's headers, in their order, and from what `amqp-types` says
of them. It tells for each header which section it goes to and which writer encodes it, and whether
a message with exactly these headers would be stored again as these headers. Records of one producer
look alike, so that a plan is made once and then looked up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.codec import DecodeError, ULong, decode, encode
from bridge.mapping import delivery_header, eventhubs_values, names, type_hints
from bridge.mapping.annotations import KEY_RANKS, KEY_TYPES
from bridge.mapping.encoding import NULL, TRUE, name, octets, text
from bridge.mapping.from_text import WRITE, Writer, string
from bridge.mapping.to_text import CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.mapping.delivery_header import StoredHeader
    from bridge.mapping.layout import Layout
    from bridge.mapping.options import MappingOptions

Step: TypeAlias = tuple[int, bytes, Writer]
"""The place of a header among the record's, the bytes that go before its value, its writer."""

TIME: Final = -1
"""Instead of a header's place: the record's own CreateTime, already encoded."""


def _nothing(_texts: tuple[bytes | None, ...]) -> object:
    return None


@dataclass(slots=True)
class Plan:
    """What to do with the headers of a record.

    `exact`: storing the message again gives the same headers, if no value falls back. `bridged`:
    a header shows that the bridge wrote the record. `event_hubs`: its headers are encoded values,
    as Azure Event Hubs has them. `damaged`: its `amqp-types` cannot be read, or says what it cannot
    mean. `otherwise` encodes an application-property that its writer refuses. `stored`: entries of
    `x-opt-bridge.stored`. `timed`: a property is the record's own time. `elsewhere`: the headers
    that become application-properties if they cannot be read as what they are. `head`: what is
    known of the section header; where the record stores fields of it, `header_texts` picks them
    out, and `heads` remembers some.
    """

    exact: bool = True
    bridged: bool = False
    event_hubs: bool = False
    damaged: bool = False
    otherwise: Callable[[bytes | None], bytes] = octets
    header_fields: list[tuple[int, str]] = field(default_factory=list)
    delivery_annotations: list[Step] = field(default_factory=list)
    annotations: list[Step] = field(default_factory=list)
    own_partition_key: bool = False
    properties: list[Step] = field(default_factory=list)
    property_end: bytes = b""
    property_count: int = 0
    application: list[Step] = field(default_factory=list)
    application_keys: set[str] = field(default_factory=set)
    footers: list[Step] = field(default_factory=list)
    body: int | None = None
    stored: list[bytes] = field(default_factory=list)
    timed: bool = False
    head: StoredHeader | None = None
    header_texts: Callable[[tuple[bytes | None, ...]], object] = _nothing
    heads: dict[object, StoredHeader] = field(default_factory=dict)
    elsewhere: dict[int, str] = field(default_factory=dict)
    receivers_annotations: int | None = None
    """The place of the header with what receivers of a dead letter annotated, if there is one."""
    uses: int = 0
    """How many records had it, until a layout was made of it."""
    layout: Layout | None = None
    """A faster way for the usual ones of the records, if there is one."""


def _never(_text: bytes | None) -> bytes | None:
    return None


def _key(write: Writer) -> Writer:
    def write_key(text: bytes | None) -> bytes | None:
        encoded = write(text)
        return encoded if encoded is not None and CODES[encoded[0]] in KEY_TYPES else None

    return write_key


def as_it_is(encoded: bytes | None) -> bytes | None:
    """Take a value that is encoded already."""
    return encoded


def any_encoded(encoded: bytes | None) -> bytes | None:
    """Take AMQP's own encoding of one value, of any type."""
    try:
        return encoded if encoded and decode(encoded)[1] == len(encoded) else None
    except DecodeError:
        return None


def compile_plan(
    header_names: tuple[str, ...],
    decisive: bytes | None,
    address: str,
    options: MappingOptions,
    *,
    timed: bool,
    event_hubs: bool = False,
) -> Plan:
    """Work out the plan for records whose headers have these names, in this order.

    `decisive` is the value of the header `decisive_header`, `address` fills in `to` where there is
    none, `timed` says that the records have a CreateTime, `event_hubs` that the messages are stored
    again by profile `eventhubs`, if they are.
    """
    compiler = _Compiler(header_names, decisive, options)
    plan = compiler.compile(address, timed=timed)
    if header_names and plan.event_hubs != event_hubs:
        plan.exact = False
    return plan


def decisive_header(header_names: tuple[str, ...]) -> int | None:
    """Find the one header whose value, beside the names of all, decides how they are read."""
    for header in (names.TYPES_HEADER, names.EVENT_HUBS_MARKER):
        if header in header_names:
            return len(header_names) - 1 - header_names[::-1].index(header)
    return None


class _Compiler:
    def __init__(
        self, header_names: tuple[str, ...], decisive: bytes | None, options: MappingOptions
    ) -> None:
        self._names = header_names
        self._options = options
        self._plan = plan = Plan()
        places = {header: place for place, header in enumerate(header_names)}
        self._places = sorted(places.values())
        plan.bridged = any(
            header.startswith(names.BRIDGE_PREFIX) and not header.startswith(names.DEAD_LETTER_PREFIX)
            for header in places
        )
        plan.exact = len(places) == len(header_names)
        self._codes: Mapping[str, str] = {}
        self._marked = False
        if names.TYPES_HEADER in places:
            plan.bridged = True
            codes = type_hints.read(decisive)
            plan.damaged = codes is None
            self._codes = codes or {}
            listed = (
                [type_hints.entry(n, codes[n]) for n in header_names if n in self._codes] if codes else []
            )
            plan.exact = plan.exact and bool(listed) and type_hints.write(listed) == decisive
        elif names.EVENT_HUBS_MARKER in places:
            plan.event_hubs = True
            plan.otherwise = eventhubs_values.otherwise
            self._marked = decisive == eventhubs_values.MARKER
            plan.bridged = plan.bridged or self._marked
        self._annotation_keys: set[bytes] = set()
        self._property_places: dict[str, int] = {}
        self._last = (0, 0)

    def compile(self, address: str, *, timed: bool) -> Plan:
        """Place every header, then lay out the section properties."""
        plan = self._plan
        letters = [place for place in self._places if names.is_dead_letter(self._names[place])]
        plan.application_keys.update(self._names[place] for place in letters)
        for place in self._places:
            if place not in letters:
                self._place(place, self._names[place])
        if letters:
            self._place_letters(letters)
        self._lay_out_properties(address, timed=timed)
        if plan.header_fields:
            plan.header_texts = itemgetter(*(place for place, _ in plan.header_fields))
        else:
            plan.head = delivery_header.read((), plan.stored)
        return plan

    def _follows(self, rank: int, place: int = 0) -> None:
        """Note whether headers come in the order in which they are written."""
        if (rank, place) < self._last:
            self._plan.exact = False
        self._last = (rank, place)

    def _place(self, place: int, header: str) -> None:
        plan = self._plan
        code = self._codes.get(header)
        if header == names.TYPES_HEADER:
            self._follows(6)
        elif header == names.EVENT_HUBS_MARKER and self._marked:
            self._follows(6)
            plan.exact = plan.exact and len(self._names) > 1  # no marker where there is nothing to mark
        elif header == names.BODY_HEADER and code is None:
            self._follows(4)
            plan.body = place
        elif header in names.HEADER_FIELDS and code is None:
            self._follows(0, names.HEADER_FIELDS.index(header))
            plan.header_fields.append((place, header))
            plan.elsewhere[place] = header
        elif header == names.DEAD_LETTER_ANNOTATIONS:
            plan.exact = False  # they are merged into the annotations, and not told apart any more
            plan.receivers_annotations = place
        elif header in names.PROPERTY_PLACES:
            self._follows(2, names.PROPERTY_PLACES[header])
            self._property_places[header] = place
        elif not (self._place_annotation(place, header, code) or self._place_encoded(place, header, code)):
            self._place_application(place, header, code)

    def _place_annotation(self, place: int, header: str, code: str | None) -> bool:
        """Place a header that is a message-annotation; False when it is none."""
        key = names.annotation_key(names.ANNOTATION_PREFIX, header)
        if header in names.TRACE_CONTEXT and code == type_hints.ANNOTATION:
            key = header
        if key is None:
            return False
        encoded = _annotation_key(key)
        if names.is_hop(str(key)) or encoded in self._annotation_keys:
            self._plan.exact = False  # the bridge writes no such header; it goes along in the list of all
            return True
        plain_name = key in names.TRACE_CONTEXT and header != key and code is None
        if plain_name and key not in self._names and not self._plan.event_hubs:
            self._plan.exact = False  # it would have had the plain name
        self._annotation_keys.add(encoded)
        self._follows(1)
        if key == names.PARTITION_KEY:
            self._plan.own_partition_key = True
            self._plan.stored.append(name(names.PARTITION_KEY) + TRUE)
        writer = self._writer(header, code, "string")
        if key in KEY_RANKS and writer is not string:
            writer = _key(writer)  # a key of another type would be refused if the message came back
        self._plan.annotations.append((place, encoded, writer))
        return True

    def _place_encoded(self, place: int, header: str, code: str | None) -> bool:
        """Place a header that is a footer or a delivery-annotation; False when it is none."""
        key = names.annotation_key(names.FOOTER_PREFIX, header)
        if key is not None and code is None:
            self._follows(5)
            self._plan.footers.append((place, _annotation_key(key), any_encoded))
            self._plan.elsewhere[place] = header
            return True
        key = names.annotation_key(names.DELIVERY_ANNOTATION_PREFIX, header)
        if key is not None and code is None:
            self._plan.exact = False  # whether it is stored is the choice of the route that it will take
            self._plan.delivery_annotations.append((place, _annotation_key(key), any_encoded))
            return True
        return False

    def _place_application(self, place: int, header: str, code: str | None) -> None:
        event_hubs = self._plan.event_hubs
        key = header if header == names.EVENT_HUBS_MARKER and event_hubs else names.application_key(header)
        if key is None:
            self._plan.exact = False
            key = header
        if key in self._plan.application_keys:
            self._plan.exact = False
            return
        self._follows(3)
        self._plan.application_keys.add(key)
        if event_hubs and key == names.EVENT_HUBS_MARKER != header:
            writer: Writer = eventhubs_values.marker
        elif event_hubs:
            writer = eventhubs_values.encoded
        elif code is None and not self._plan.bridged and self._options.foreign_headers == "binary":
            self._plan.exact = False
            writer = WRITE["binary"]
        else:
            writer = self._writer(header, code, "string")
        self._plan.application.append((place, text(key), writer))

    def _place_letters(self, places: list[int]) -> None:
        """Place the headers of a dead letter: text, behind all others, whatever wrote those."""
        plan = self._plan
        count = len(self._names)
        if (
            plan.event_hubs
            or places != list(range(count - len(places), count))
            or any(self._names[place] in self._codes for place in places)
            or any(names.is_escaped_dead_letter(header) for header in self._names)
        ):
            plan.exact = False
        plan.stored.append(name(names.DEAD_LETTER) + TRUE)
        plan.application += [(place, text(self._names[place]), string) for place in places]

    def _writer(self, header: str, code: str | None, default: str) -> Writer:
        if self._plan.event_hubs:
            is_property = header in names.PROPERTY_PLACES
            others = eventhubs_values.present if is_property else eventhubs_values.encoded
            return eventhubs_values.TEXTS.get(header, others)
        if code is None:
            return WRITE[default]
        if code == type_hints.ANNOTATION and header in names.TRACE_CONTEXT:
            return string
        if code == default:
            self._plan.exact = False
        if code not in WRITE or code == type_hints.ANNOTATION:
            self._plan.exact = False
            return _never
        return WRITE[code]

    def _lay_out_properties(self, address: str, *, timed: bool) -> None:
        """Lay out the list of properties: what stands before each stored one and after all."""
        plan = self._plan
        before = b""
        for number, (header, default) in enumerate(names.PROPERTIES.items()):
            place = self._property_places.get(header)
            if place is not None:
                writer = self._writer(header, self._codes.get(header), default)
                plan.properties.append((place, before, writer))
                plan.elsewhere[place] = header
                if header in {"to", "creation-time"}:
                    plan.stored.append(name(header) + TRUE)
            elif header == "creation-time" and self._is_timed(timed=timed):
                plan.properties.append((TIME, before, as_it_is))
                plan.timed = True
            elif header == "to" and address:
                before += text(address)
                plan.property_end, plan.property_count = before, number + 1
                continue
            else:
                before += NULL
                continue
            before = plan.property_end = b""
            plan.property_count = number + 1

    def _is_timed(self, *, timed: bool) -> bool:
        return timed and not self._plan.bridged and self._options.creation_time_from_record


def _annotation_key(key: str | int) -> bytes:
    return encode(ULong(key)) if isinstance(key, int) else name(key)
