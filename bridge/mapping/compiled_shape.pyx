# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Shapes in C, and the whole way of a message to its record where it is a body alone or like an earlier one.

It does what `bridge.mapping.shapes.Shape` does, and what `bridge.mapping.to_record` does before a message is read,
for a fraction of the time. What is not usual about a message it leaves to the ordinary way, by giving None. It fails
for nothing but want of memory.

No message is trusted: all of its head but the octets of its values is compared with that of the learnt message, which
has the same length, before a value is looked at. A header whose text is that of the message before is not made again;
the others are replaced one by one, each as a whole: wherever something is allocated, or a reader of Python's is called,
the garbage collector or another thread may use the same shape.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GetSlice
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from bridge.mapping cimport compiled_texts as texts
from bridge.mapping.compiled_values cimport is_ascii, is_utf_8

from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME
from bridge.mapping.to_text import MALFORMED, READ, as_it_is

cdef extern from "Python.h":
    int PyTuple_CheckExact(object)
    PyObject *PyList_GET_ITEM(object, Py_ssize_t)
    PyObject *PyTuple_GET_ITEM(object, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(object)

cdef enum:
    NO_HEADER = -1  # as in bridge.mapping.shapes
    BINARY8 = 0xA0
    BINARY32 = 0xB0
    DATA_SIZE = 4  # of a descriptor and a constructor
    EMPTY_SIZE = 12  # an empty header and empty properties come before these

cdef enum Kind:
    STRING, BINARY, UNSIGNED, SIGNED, BOOLEAN, DOUBLE, HEXADECIMAL, UUID, OTHER

cdef struct Slot:
    # A value: how it is read, where its octets are, and the place of its header.
    Kind kind
    Py_ssize_t start, size, place
    PyObject *read

cdef dict _KINDS = {
    READ[0x50]: (UNSIGNED, 1),
    READ[0x60]: (UNSIGNED, 2),
    READ[0x70]: (UNSIGNED, 4),
    READ[0x80]: (UNSIGNED, 8),
    READ[0x51]: (SIGNED, 1),
    READ[0x61]: (SIGNED, 2),
    READ[0x71]: (SIGNED, 4),
    READ[0x81]: (SIGNED, 8),
    READ[0x83]: (SIGNED, 8),
    READ[0x56]: (BOOLEAN, 1),
    READ[0x82]: (DOUBLE, 8),
    READ[0x74]: (HEXADECIMAL, 4),
    READ[0x84]: (HEXADECIMAL, 8),
    READ[0x94]: (HEXADECIMAL, texts.WIDEST_HEX),
    READ[0x98]: (UUID, 16),
}
cdef object _MALFORMED = MALFORMED
cdef object _ANY_PARTITION = ANY_PARTITION
cdef object _ARRIVAL_TIME = ARRIVAL_TIME
cdef const char *_DATA = b"\0Su"
cdef const char *_EMPTY_THEN_DATA = b"\0SpE\0SsE\0Su"


def compiled_to_record(more, /):
    """Make the function that maps messages: see `bridge.mapping.to_record.message_to_record`.

    `more` gives the shapes that are known, by how messages begin, and what maps messages of all kinds. It is called
    when there is a first message that is more than a body.
    """
    return _ToRecord(more).record


cdef class _ToRecord:

    cdef object _more, _read
    cdef dict _known
    cdef CompiledShape _last

    def __cinit__(self, more):
        self._more = more

    def record(self, message, /):
        """Map one message."""
        cdef object record
        if isinstance(message, bytes) and not PyBytes_CheckExact(message):
            message = PyBytes_FromStringAndSize(PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))
        if self._read is None:
            record = _of_a_body(message)
            if record is not None:
                return record
            self._known, self._read = self._more()
        if PyBytes_CheckExact(message):
            record = _of_a_body(message)
            if record is None:
                record = self._alike(<bytes>message)
            if record is not None:
                return record
        return self._read(message)

    cdef object _alike(self, bytes message):
        """Give the record of a message that is like an earlier one, else None."""
        cdef const uint8_t *octets = <const uint8_t *>PyBytes_AS_STRING(message)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(message)
        cdef Py_ssize_t beginning
        cdef CompiledShape shape = self._last
        cdef object found, record
        if shape is not None:
            record = shape.of(message)
            if record is not None:
                return record
        beginning = 12 if size > 2 and octets[2] == c"p" else 8  # as in bridge.mapping.shapes
        found = self._known.get(message[: beginning if beginning < size else size])
        if found is shape or type(found) is not CompiledShape:
            return None
        shape = <CompiledShape>found
        record = shape.of(message)
        if record is not None:
            self._last = shape
        return record


cdef object _of_a_body(message):
    """Give the record of a message that has nothing but one data section, else None."""
    cdef const uint8_t *octets
    cdef Py_ssize_t size, before, width
    if not PyBytes_CheckExact(message):
        return None
    octets = <const uint8_t *>PyBytes_AS_STRING(message)
    size = PyBytes_GET_SIZE(message)
    if size > DATA_SIZE and memcmp(octets, _DATA, DATA_SIZE - 1) == 0:
        before = DATA_SIZE
    elif size > EMPTY_SIZE and memcmp(octets, _EMPTY_THEN_DATA, EMPTY_SIZE - 1) == 0:
        before = EMPTY_SIZE
    else:
        return None
    if octets[before - 1] == BINARY8:
        width = 1
    elif octets[before - 1] == BINARY32:
        width = 4
    else:
        return None
    return _with_body(message, before, width, None, None, _ANY_PARTITION)


cdef inline object _with_body(bytes message, Py_ssize_t before, Py_ssize_t width, key, headers, partition):
    """Give the record of a message whose body's size is in `width` octets; None if the body is not what is left."""
    cdef const uint8_t *octets = <const uint8_t *>PyBytes_AS_STRING(message)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(message) - before - width
    if size < 0 or texts.read_number(octets + before, width) != <uint64_t>size:
        return None
    body = PyBytes_FromStringAndSize(<const char *>octets + before + width, size)
    return body, key, headers, partition, _ARRIVAL_TIME


cdef class CompiledShape:
    """One shape, and the headers that it gave last."""

    cdef public Py_ssize_t hits
    cdef Py_ssize_t _head_size  # of all before the size of the body
    cdef Py_ssize_t _size_width
    # The head of a message, and which octets of it are the same in all: 0xFF for these, 0 for values.
    cdef uint8_t *_head
    cdef uint8_t *_is_constant
    cdef Slot *_slots
    cdef Py_ssize_t _slot_count
    cdef tuple _cuts  # they own what the slots point to
    cdef list _headers
    cdef Slot _key_slot
    cdef bint _has_key_slot
    cdef bytes _key
    cdef object _partition

    def __cinit__(self, bytes message not None, Py_ssize_t body_at, list cuts not None, tuple record, key_cut):
        cdef Py_ssize_t head_size = body_at + DATA_SIZE
        cdef const uint8_t *octets = <const uint8_t *>PyBytes_AS_STRING(message)
        cdef Slot slot
        cdef Py_ssize_t last = 0
        if not 0 <= body_at < PyBytes_GET_SIZE(message) - DATA_SIZE:
            raise ValueError("no message with a body in its place")
        if memcmp(octets + body_at, _DATA, DATA_SIZE - 1) != 0:
            raise ValueError("no message with a data section in its place")
        if octets[head_size - 1] not in (BINARY8, BINARY32):
            raise ValueError("no binary in its data section")
        self._head_size = head_size
        self._size_width = 1 if octets[head_size - 1] == BINARY8 else 4
        _, self._key, headers, self._partition, _ = record
        self._headers = [_header(header) for header in headers or ()]
        self._cuts = tuple(cuts)
        self._head = <uint8_t *>PyMem_Malloc(2 * head_size)
        self._slots = <Slot *>PyMem_Malloc((len(cuts) + 1) * sizeof(Slot))
        if self._head == NULL or self._slots == NULL:
            raise MemoryError
        self._is_constant = self._head + head_size
        memcpy(self._head, octets, head_size)
        memset(self._is_constant, 0xFF, head_size)
        for cut in self._cuts:
            slot = self._slot(cut)
            if not last <= slot.start <= slot.start + slot.size <= body_at:
                raise ValueError("values that overlap, or are not within the head")
            last = slot.start + slot.size
            memset(self._is_constant + slot.start, 0, slot.size)
            if cut is key_cut:
                self._key_slot, self._has_key_slot = slot, True
            if slot.place != NO_HEADER:
                self._slots[self._slot_count] = slot
                self._slot_count += 1

    def __dealloc__(self):
        PyMem_Free(self._head)
        PyMem_Free(self._slots)

    cdef Slot _slot(self, tuple cut) except *:
        cdef Slot slot
        start, stop, read, place = cut
        slot.start, slot.size, slot.place = start, stop - start, place
        slot.read = PyTuple_GET_ITEM(cut, 2)
        if read is None or read is as_it_is:
            slot.kind = STRING if read is None else BINARY
        else:
            slot.kind, width = _KINDS.get(read, (OTHER, slot.size))
            if slot.size != width:
                raise ValueError("a value of another width than its type's")
        if slot.place != NO_HEADER and not 0 <= slot.place < len(self._headers):
            raise IndexError(place)
        return slot

    def record(self, message, /):
        """Give the message's record; None if the message has another shape, or is not usual."""
        return self.of(<bytes>message) if PyBytes_CheckExact(message) else None

    cdef object of(self, bytes message):
        cdef const uint8_t *octets = <const uint8_t *>PyBytes_AS_STRING(message)
        cdef Py_ssize_t number
        cdef list headers = None
        cdef bytes key = self._key
        cdef object record
        if PyBytes_GET_SIZE(message) < self._head_size:
            return None
        if not _is_alike(octets, self._head, self._is_constant, self._head_size):
            return None
        if self._has_key_slot:
            key = PyBytes_FromStringAndSize(<const char *>octets + self._key_slot.start, self._key_slot.size)
            if not is_ascii(PyBytes_AS_STRING(key), self._key_slot.size):
                return None
        if self._headers:
            headers = PyList_GetSlice(self._headers, 0, len(self._headers))
            for number in range(self._slot_count):
                if not self._set(headers, &self._slots[number], octets):
                    return None
        record = _with_body(message, self._head_size, self._size_width, key, headers, self._partition)
        if record is not None:
            self.hits += 1
        return record

    cdef int _set(self, list headers, Slot *slot, const uint8_t *octets) except -1:
        """Put the header of a value in its place, where the former one is; 0 for a value that is not usual."""
        cdef char[texts.LONGEST] room
        cdef const char *text = room
        cdef Py_ssize_t size
        cdef bytes read
        octets += slot.start
        if slot.kind == STRING or slot.kind == BINARY:
            text, size = <const char *>octets, slot.size
        elif slot.kind == OTHER:
            read = _read(<object>slot.read, PyBytes_FromStringAndSize(<const char *>octets, slot.size))
            if read is None:
                return 0
            text, size = PyBytes_AS_STRING(read), PyBytes_GET_SIZE(read)
        else:
            size = _write(room, slot, octets)
            if size == 0:
                return 0
        header = <tuple>PyList_GET_ITEM(headers, slot.place)
        if _has_text(<tuple>header, text, size):
            return 1
        if slot.kind == STRING and not is_utf_8(text, size):
            return 0
        header = (<object>PyTuple_GET_ITEM(header, 0), PyBytes_FromStringAndSize(text, size))
        headers[slot.place] = header
        self._headers[slot.place] = header
        return 1


cdef tuple _header(header):
    name, text = header
    if type(name) is not str or not (text is None or PyBytes_CheckExact(text)):
        raise TypeError("not a header")
    return name, text


cdef inline bint _is_alike(const uint8_t *octets, const uint8_t *head, const uint8_t *mask, Py_ssize_t size) noexcept:
    """Compare octets with those of a head, but for those that are masked."""
    # No branches, so that the compiler takes many octets at a time.
    cdef uint8_t difference = 0
    cdef Py_ssize_t place
    for place in range(size):
        difference |= (octets[place] ^ head[place]) & mask[place]
    return difference == 0


cdef inline bint _has_text(tuple header, const char *text, Py_ssize_t size) noexcept:
    cdef PyObject *former = PyTuple_GET_ITEM(header, 1)
    if former == <PyObject *>None or PyBytes_GET_SIZE(<object>former) != size:
        return False
    return memcmp(PyBytes_AS_STRING(<object>former), text, size) == 0


cdef inline Py_ssize_t _write(char *text, Slot *slot, const uint8_t *octets) except -1:
    if slot.kind == UNSIGNED:
        return texts.write_unsigned(text, octets, slot.size)
    if slot.kind == SIGNED:
        return texts.write_signed(text, octets, slot.size)
    if slot.kind == BOOLEAN:
        return texts.write_boolean(text, octets[0])
    if slot.kind == DOUBLE:
        return texts.write_double(text, octets)
    if slot.kind == HEXADECIMAL:
        return texts.write_hexadecimal(text, octets, slot.size)
    return texts.write_uuid(text, octets)


cdef bytes _read(read, bytes value):
    """Read a value as Python does; None where that fails."""
    try:
        found = read(value, 0)
    except _MALFORMED:
        return None
    if not PyTuple_CheckExact(found) or PyTuple_GET_SIZE(found) != 2:
        return None
    text = <object>PyTuple_GET_ITEM(found, 0)
    return text if PyBytes_CheckExact(text) else None
