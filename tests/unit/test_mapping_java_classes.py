from __future__ import annotations

import math
from uuid import UUID

import pytest

from bridge.codec import Byte, Char, Timestamp, UInt, ULong
from bridge.mapping.java_classes import (
    OBJECT_ARRAYS,
    PRIMITIVE_ARRAYS,
    SCALARS,
    JavaClass,
    NotSerializableError,
)


def test_a_class_is_described_in_two_parts() -> None:
    described = JavaClass("a.B", 1, ("Ione", "Ztwo"))
    assert described.name_and_serial() == b"\x00\x03a.B\x00\x00\x00\x00\x00\x00\x00\x01"
    assert described.description() == b"\x02\x00\x02I\x00\x03oneZ\x00\x03twox"


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (True, b"\x01"),
        (Byte(-1), b"\xff"),
        (UInt(2**32 - 1), b"\xff\xff\xff\xff"),
        (ULong(2**64 - 1), b"\xff" * 8),
        (1.5, b"\x3f\xf8" + bytes(6)),
        (-math.nan, b"\x7f\xf8" + bytes(6)),
        (Char("\uffff"), b"\xff\xff"),
        (Timestamp(5), b"w\x08" + bytes(7) + b"\x05x"),
        (UUID(int=1), bytes(7) + b"\x01" + bytes(8)),
    ],
)
def test_a_scalar_has_the_data_of_its_object(value: object, data: bytes) -> None:
    assert SCALARS[type(value)][1](value) == data


def test_a_character_of_java_has_16_bits() -> None:
    with pytest.raises(NotSerializableError):
        SCALARS[Char][1](Char("\U00010000"))


def test_an_array_is_of_primitives_or_of_objects() -> None:
    assert not PRIMITIVE_ARRAYS.keys() & OBJECT_ARRAYS.keys()
    classes = [described for described, _ in PRIMITIVE_ARRAYS.values()] + list(OBJECT_ARRAYS.values())
    assert all(described.name.startswith("[") for described in classes)
    assert len({described.serial for described in classes}) == len(classes)
