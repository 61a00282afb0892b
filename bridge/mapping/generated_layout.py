"""Layouts as functions of Python, generated: what is used where the compiled ones are not.

A generated function knows how many headers there are, which writer each value has and where it goes, and all
bytes in between, and has no loops, tables or choices left. It is written as source and compiled, as
`dataclasses` does with constructors. What comes from records (names, values) is never part of the source.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from bridge.mapping.from_text import Writer, string, symbol
from bridge.mapping.plans import TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.mapping.layout import Beginnings, Layout
    from bridge.mapping.plans import Plan, Step

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


def generated_layout(
    names: tuple[str, ...], plan: Plan, decisive: tuple[int, bytes | None] | None, begins: Beginnings
) -> Layout:
    """Make the layout of a plan: see `bridge.mapping.layout.layout`."""
    return _Writer(plan, begins).write(names, decisive)


class _Writer:
    """Writes the source of one layout. Names in it: n and t with a number are a header's name and text."""

    def __init__(self, plan: Plan, begins: Beginnings) -> None:
        self._plan = plan
        self._lines: list[str] = []
        self._known: dict[str, Any] = {
            "join": b"".join,
            "begins": begins,
            "starts": begins.starts,
            "property_heads": Heads(_PROPERTIES, plan.property_count),
            "application_heads": Heads(_APPLICATION, 2 * len(plan.application)),
            "pack_time": Struct(">Bq").pack,
            "data": _DATA8,
            "pack_data": Struct(">4sI").pack,
        }

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
