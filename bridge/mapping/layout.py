"""Messages of records whose headers have the same names, encoded by a function that is made for them.

A producer's records have the same headers again and again, so that a plan (`bridge.mapping.plans`) says the
same about each. A layout is that plan as a function: it knows how many headers there are, which writer each
value has and where it goes, and all bytes in between, and has no loops, tables or choices left. It is
written as source and compiled, as `dataclasses` does with constructors. What comes from records (names,
values) is never part of the source.

What a layout gives is what the ordinary way gives; it is an optimisation and decides nothing. Whatever is
not usual about a record (other names, a value that is not what its header's type says, a ttl) it leaves to
the ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bridge.mapping.from_text import Writer, string, symbol
from bridge.mapping.passage import CREATE_TIME, TimedAnnotations, key_annotations
from bridge.mapping.plans import TIME

if TYPE_CHECKING:
    from bridge.mapping.delivery_header import StoredHeader
    from bridge.mapping.passage import Passage
    from bridge.mapping.plans import Plan, Step

Texts: TypeAlias = tuple[bytes | None, ...]

Layout: TypeAlias = Callable[
    [int, int, int, bytes | None, bytes, Sequence[tuple[str, bytes | None]]], bytes | None
]
"""Encodes the first delivery of a record with a CreateTime and a value: partition, offset, timestamp in ms,
key, value, headers. Gives None for a record that is not one of those that it was made for."""

HEADERS_MAX: Final = 64
"""Records with more headers have no layout: its source grows with them, and so do the milliseconds in which
it is compiled, until the compiler gives up altogether."""

STARTS_REMEMBERED: Final = 16
"""How many section headers a layout remembers before all are forgotten."""

_MAX_8: Final = 0xFF
_TIMESTAMP: Final = 0x83
_PROPERTIES: Final = (b"\x00Ss", 0xC0)
_APPLICATION: Final = (b"\x00St", 0xC1)
_TEXT_STARTS: Final[dict[Writer, tuple[bytes, ...]]] = {
    write: tuple(bytes((constructor, size)) for size in range(256))
    for write, constructor in ((string, 0xA1), (symbol, 0xA3))
}
"""What stands before texts of up to 255 bytes, by their size; in a layout they need no call."""
_DATA8: Final = tuple(b"\x00Su\xa0" + bytes((size,)) for size in range(256))

_pack_sizes = Struct(">II").pack


class Heads(dict[int, bytes]):
    """What stands before the content of a section that is a list or map with `count` elements, by its size.

    `section` is its descriptor and the constructor that has a size of one byte.
    """

    __slots__ = ("_count", "_section")

    def __init__(self, section: tuple[bytes, int], count: int) -> None:
        super().__init__({0: b""})
        self._section, self._count = section, count

    def __missing__(self, size: int) -> bytes:
        descriptor, constructor = self._section
        if size >= _MAX_8 or self._count > _MAX_8:
            return descriptor + bytes((constructor + 0x10,)) + _pack_sizes(size + 4, self._count)
        head = self[size] = descriptor + bytes((constructor, size + 1, self._count))
        return head


def layout(
    names: tuple[str, ...],
    plan: Plan,
    decisive: tuple[int, bytes | None] | None,
    passage: Passage,
    head_of: Callable[[Plan, Texts], StoredHeader],
) -> Layout | None:
    """Make the layout of a plan; None where its messages are not of the usual kind, or have many headers.

    `decisive` is the place of the header whose value decides beside the names, and that value. `head_of`
    reads what a record's headers say of the section header.
    """
    usual = plan.exact and plan.body is None and plan.receivers_annotations is None
    if not usual or len(names) > HEADERS_MAX or plan.delivery_annotations or plan.footers:
        return None
    return _Writer(plan, passage, head_of).write(names, decisive)


class _Writer:
    """Writes the source of one layout. Names in it: n and t with a number are a header's name and text."""

    def __init__(self, plan: Plan, passage: Passage, head_of: Callable[[Plan, Texts], StoredHeader]) -> None:
        self._plan = plan
        self._lines: list[str] = []
        self._known: dict[str, Any] = {
            "join": b"".join,
            "begins": _Beginnings(plan, passage, head_of),
            "starts": {},
            "property_heads": Heads(_PROPERTIES, plan.property_count),
            "application_heads": Heads(_APPLICATION, 2 * len(plan.application)),
            "pack_time": Struct(">Bq").pack,
            "data": _DATA8,
            "pack_data": Struct(">4sI").pack,
        }
        self._known["starts"] = self._known["begins"].starts

    def write(self, names: tuple[str, ...], decisive: tuple[int, bytes | None] | None) -> Layout:
        """Write it, and give the function."""
        plan, add = self._plan, self._lines.append
        numbers = range(len(names))
        add("def encode(partition, offset, timestamp_ms, key, value, headers):")
        add(f"    {_tuple(f'(n{number}, t{number})' for number in numbers)} = headers")
        is_other = f"{_tuple(f'n{number}' for number in numbers)} != {self._constant(names)}"
        if decisive is not None:
            is_other += f" or t{decisive[0]} != {self._constant(decisive[1])}"
        add(f"    if {is_other}: return None")
        fields = _tuple(f"t{place}" for place, _ in plan.header_fields)
        add(f"    start = starts.get({fields})")
        add("    if start is None:")
        add(f"        start = begins.learn({fields}, {_tuple(f't{number}' for number in numbers)})")
        add("        if start is None: return None")
        annotations, _ = self._values(plan.annotations)
        properties, properties_size = self._values(plan.properties, plan.property_end)
        application, application_size = self._values(plan.application)
        if annotations:
            add(f"    begin = begins.own(start, partition, offset, timestamp_ms, key, join(({annotations})))")
        else:
            add("    if key is None: begin = start.section(partition, offset, timestamp_ms)")
            add("    else: begin = begins.own(start, partition, offset, timestamp_ms, key)")
        add("    size = len(value)")
        add(r"    head = data[size] if size < 256 else pack_data(b'\x00Su\xb0', size)")
        pieces = (
            f"begin, property_heads[{properties_size}], {properties}"
            f"application_heads[{application_size}], {application}head, value"
        )
        add(f"    return join(({pieces}))")
        code = compile("\n".join(self._lines), "<layout>", "exec")
        exec(code, self._known)  # noqa: S102 - see the module's docstring
        made: Layout = self._known["encode"]
        return made

    def _constant(self, value: object) -> str:
        name = f"c{len(self._known)}"
        self._known[name] = value
        return name

    def _values(self, steps: Sequence[Step], end: bytes = b"") -> tuple[str, str]:
        """Write what encodes some values; gives the pieces, each with a comma behind, and their size."""
        pieces, sizes, constant_bytes = "", "", len(end)
        for place, before, write in steps:
            if before:
                pieces += f"{self._constant(before)}, "
                constant_bytes += len(before)
            starts = _TEXT_STARTS.get(write)
            if place == TIME:
                self._lines.append(f"    time = pack_time({_TIMESTAMP}, timestamp_ms)")
                pieces += "time, "
                constant_bytes += 9
            elif starts is not None:
                self._lines += [
                    f"    if t{place} is None or not t{place}.isascii(): return None",
                    f"    s{place} = len(t{place})",
                    f"    if s{place} > {_MAX_8}: return None",
                ]
                pieces += f"{self._constant(starts)}[s{place}], t{place}, "
                constant_bytes += 2
                sizes += f" + s{place}"
            else:
                self._lines += [
                    f"    e{place} = {self._constant(write)}(t{place})",
                    f"    if e{place} is None: return None",
                ]
                pieces += f"e{place}, "
                sizes += f" + len(e{place})"
        if end:
            pieces += f"{self._constant(end)}, "
        return pieces, f"{constant_bytes}{sizes}"


def _tuple(parts: Iterable[str]) -> str:
    return "(" + "".join(f"{part}, " for part in parts) + ")"


class _Beginnings:
    """How messages begin: the section header and the annotations, by what the headers say of the former."""

    def __init__(self, plan: Plan, passage: Passage, head_of: Callable[[Plan, Texts], StoredHeader]) -> None:
        self._plan = plan
        self._passage = passage
        self._head_of = head_of
        self.starts: dict[Texts, TimedAnnotations] = {}

    def learn(self, fields: Texts, texts: Texts) -> TimedAnnotations | None:
        """Work out how messages with such a section header begin; None where they are unusual."""
        head = self._head_of(self._plan, texts)
        if head.ttl_ms is not None or head.unread:
            return None
        if len(self.starts) >= STARTS_REMEMBERED:
            self.starts.clear()
        count = 2 if head.annotation else 0
        start = self.starts[fields] = TimedAnnotations(self._passage, head.first, head.annotation, count)
        return start

    def own(
        self,
        start: TimedAnnotations,
        partition: int,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        annotations: bytes = b"",
    ) -> bytes:
        """Encode header and annotations of a record that has a key, or annotations of its own."""
        own, count = b"", start.count + 2 * len(self._plan.annotations)
        if key is not None:
            own, key_count = key_annotations(key, own_partition_key=self._plan.own_partition_key)
            count += key_count
        own += annotations + start.own
        begin = self._passage.begin(partition, offset, CREATE_TIME, timestamp_ms, (len(own), count))
        return b"".join((start.before, begin, own))
