# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Layouts in C: the steps of a plan, followed without Python's interpreter.

It does what `bridge.mapping.generated_layout` does, for a fraction of the time, and `bridge.mapping.layout`
chooses. What is not usual about a record it leaves to the ordinary way, by giving None; so it does with values of
other classes than those that Kafka's client gives. It fails for nothing but want of memory.

A message is written into memory of the call's own, and what is kept from one record to the next is changed in one
go: functions of Python are called for some values, and other threads may run meanwhile.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject
from libc.stdint cimport INT32_MAX, INT32_MIN, UINT8_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from bridge.mapping cimport compiled_values as values
from bridge.mapping.compiled_values cimport HEAD_8, HEAD_32, Integer, Output

from bridge.mapping.from_text import WRITE
from bridge.mapping.passage import KEY_NAMES, TIMED, key_annotations
from bridge.mapping.plans import TIME

cdef extern from "Python.h":
    int PyList_CheckExact(object)
    int PyTuple_CheckExact(object)
    int PyLong_CheckExact(object)
    Py_ssize_t PySequence_Fast_GET_SIZE(object)
    PyObject *PySequence_Fast_GET_ITEM(object, Py_ssize_t)
    PyObject *PyTuple_GET_ITEM(object, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(object)
    long long PyLong_AsLongLongAndOverflow(object, int *) except? -1

cdef enum:
    HEADERS_MAX = 64  # as in bridge.mapping.layout
    ROOM = 2048  # bytes on the stack, enough for what most messages have before their body
    TIMESTAMP = 0x83
    BINARY8 = 0xA0
    STRING8 = 0xA1
    SYMBOL8 = 0xA3

cdef enum Kind:
    STRING, SYMBOL, BINARY, BOOLEAN, INTEGER, DOUBLE, UUID, RECORD_TIME, OTHER

cdef struct Step:
    Kind kind
    Integer integer
    Py_ssize_t place
    const char *before
    Py_ssize_t before_size
    PyObject *write

cdef dict _KINDS = {
    WRITE["string"]: STRING,
    WRITE["symbol"]: SYMBOL,
    WRITE["binary"]: BINARY,
    WRITE["boolean"]: BOOLEAN,
    WRITE["double"]: DOUBLE,
    WRITE["uuid"]: UUID,
}
cdef dict _INTEGERS = {
    WRITE["ubyte"]: Integer(0x50, 1, 0, 0, False, 0xFF, 0),
    WRITE["ushort"]: Integer(0x60, 2, 0, 0, False, 0xFFFF, 0),
    WRITE["uint"]: Integer(0x70, 4, 0x52, 0x43, False, 0xFFFFFFFF, 0),
    WRITE["ulong"]: Integer(0x80, 8, 0x53, 0x44, False, 0xFFFFFFFFFFFFFFFF, 0),
    WRITE["byte"]: Integer(0x51, 1, 0, 0, True, 0x7F, 0x80),
    WRITE["short"]: Integer(0x61, 2, 0, 0, True, 0x7FFF, 0x8000),
    WRITE["int"]: Integer(0x71, 4, 0x54, 0, True, 0x7FFFFFFF, 0x80000000),
    WRITE["long"]: Integer(0x81, 8, 0x55, 0, True, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000),
    WRITE["timestamp"]: Integer(0x83, 8, 0, 0, True, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000),
}
cdef bytes _KEY, _KAFKA_KEY, _PARTITION_KEY
_KEY, _KAFKA_KEY, _PARTITION_KEY = KEY_NAMES
cdef uint32_t _KEY_COUNT = 2 * len(KEY_NAMES)
cdef uint32_t _TIMED = TIMED


def compiled_layout(names, plan, decisive, begins, /):
    """Make the layout of a plan: see `bridge.mapping.layout.layout`."""
    return _Layout(names, plan, decisive, begins).encode


cdef class _Layout:

    cdef tuple _names
    cdef object _begins
    cdef Py_ssize_t _decisive_place
    cdef bytes _decisive
    cdef tuple _plan_steps  # they own what `_steps` points to
    cdef Step *_steps
    cdef Py_ssize_t _annotation_count, _property_count, _application_count
    cdef bint _calls_python
    cdef bint _own_partition_key
    cdef bytes _property_end
    cdef uint32_t _property_places
    # The annotations of its passage, with zeros for the record's numbers; and where these go.
    cdef bytes _form
    cdef Py_ssize_t _partition_at, _offset_at, _sequence_at, _time_at
    # What the section header depends on; and, of the record before, those texts and how its message began.
    cdef Py_ssize_t[HEADERS_MAX] _field_places
    cdef Py_ssize_t _field_count
    cdef tuple _fields
    cdef bytes _before, _own
    cdef uint32_t _count

    def __cinit__(self, tuple names, plan, tuple decisive, begins):
        cdef Py_ssize_t number
        if len(names) > HEADERS_MAX or not all([isinstance(name, str) for name in names]):
            raise ValueError("not the names of a layout")
        self._names, self._begins = names, begins
        self._decisive_place = TIME
        if decisive is not None:
            self._decisive_place, self._decisive = self._place(decisive[0]), decisive[1]
        self._plan_steps = (*plan.annotations, *plan.properties, *plan.application)
        self._steps = <Step *>PyMem_Malloc((len(self._plan_steps) + 1) * sizeof(Step))
        if self._steps == NULL:
            raise MemoryError
        for number in range(len(self._plan_steps)):
            self._set_step(&self._steps[number], self._plan_steps[number])
        self._annotation_count, self._property_count = len(plan.annotations), len(plan.properties)
        self._application_count = len(plan.application)
        self._own_partition_key = plan.own_partition_key
        self._property_end, self._property_places = plan.property_end, plan.property_count
        self._form, places = begins.passage.timed_form()
        self._partition_at, self._offset_at, self._sequence_at, self._time_at = places
        self._field_count = len(plan.header_fields)
        for number in range(self._field_count):
            self._field_places[number] = self._place(plan.header_fields[number][0])

    def __dealloc__(self):
        PyMem_Free(self._steps)

    cdef Py_ssize_t _place(self, Py_ssize_t place) except -1:
        """Give the place of a header back, if there is one."""
        if not 0 <= place < len(self._names):
            raise IndexError(place)
        return place

    cdef int _set_step(self, Step *step, tuple of_plan) except -1:
        cdef bytes before
        place, before, write = of_plan
        step.place = TIME if place == TIME else self._place(place)
        step.before, step.before_size = PyBytes_AS_STRING(before), PyBytes_GET_SIZE(before)
        step.write = <PyObject *>write
        if place == TIME:
            step.kind = RECORD_TIME
        elif write in _INTEGERS:
            step.kind, step.integer = INTEGER, _INTEGERS[write]
        else:
            step.kind = _KINDS.get(write, OTHER)
        if step.kind == OTHER:
            self._calls_python = True
        return 0

    def encode(self, partition, offset, timestamp_ms, key, value, headers, /):
        """Encode the first delivery of a record: see `bridge.mapping.layout.Layout`."""
        cdef Output out
        cdef uint8_t[ROOM] room
        out.start = out.at = room
        out.end = room + ROOM
        out.on_heap = False
        try:
            if not self._write(&out, partition, offset, timestamp_ms, key, value, headers):
                return None
            return _with_body(&out, value)
        finally:
            if out.on_heap:
                PyMem_Free(out.start)

    cdef int _write(self, Output *out, partition, offset, timestamp_ms, key, value, headers) except -1:
        """Write all but the body; 0 for a record that is not usual."""
        cdef int64_t[3] numbers
        cdef PyObject *texts[HEADERS_MAX]
        cdef object own_key = None, kept = None
        cdef Step *steps = self._steps
        cdef Py_ssize_t start
        if not (PyBytes_CheckExact(value) and (key is None or PyBytes_CheckExact(key))):
            return 0
        if not (_read_number(partition, &numbers[0]) and INT32_MIN <= numbers[0] <= INT32_MAX):
            return 0
        if not (_read_number(offset, &numbers[1]) and _read_number(timestamp_ms, &numbers[2])):
            return 0
        if key is not None and (self._own_partition_key or not _is_short_and_ascii(<bytes>key)):
            own_key = key_annotations(key, own_partition_key=self._own_partition_key)
        if not self._read(headers, texts):
            return 0
        if self._calls_python:
            kept = self._all(texts)  # where Python runs, somebody might take them from the headers
        if not self._is_like_the_last(texts):
            kept = self._all(texts)
            if not self._learn(<tuple>kept):
                return 0
        if not self._begin(out, numbers, key, own_key, texts):
            return 0
        steps += self._annotation_count
        start = values.opened(out, HEAD_8)
        if not _write_values(out, steps, self._property_count, texts, numbers[2]):
            return 0
        values.put(out, self._property_end)
        if not values.closed(out, start, HEAD_8, c"s", 0xC0, self._property_places):
            return 0
        steps += self._property_count
        start = values.opened(out, HEAD_8)
        if not _write_values(out, steps, self._application_count, texts, numbers[2]):
            return 0
        return values.closed(out, start, HEAD_8, c"t", 0xC1, 2 * self._application_count)

    cdef int _read(self, headers, PyObject **texts) except -1:
        """Find the texts; 0 if the names are others, or the text that decides, or if these are no headers."""
        cdef Py_ssize_t number
        cdef object header
        if not (PyList_CheckExact(headers) or PyTuple_CheckExact(headers)):
            return 0
        if PySequence_Fast_GET_SIZE(headers) != PyTuple_GET_SIZE(self._names):
            return 0
        for number in range(PyTuple_GET_SIZE(self._names)):
            header = <object>PySequence_Fast_GET_ITEM(headers, number)
            if not PyTuple_CheckExact(header) or PyTuple_GET_SIZE(header) != 2:
                return 0
            if not _is_name(<object>PyTuple_GET_ITEM(header, 0), <str>PyTuple_GET_ITEM(self._names, number)):
                return 0
            texts[number] = PyTuple_GET_ITEM(header, 1)
            if texts[number] != <PyObject *>None and not PyBytes_CheckExact(<object>texts[number]):
                return 0
        return self._decisive_place < 0 or _is_same(texts[self._decisive_place], <PyObject *>self._decisive)

    cdef tuple _all(self, PyObject **texts):
        return tuple([<object>texts[number] for number in range(PyTuple_GET_SIZE(self._names))])

    cdef bint _is_like_the_last(self, PyObject **texts) noexcept:
        """Tell whether the message begins as the last one did."""
        cdef Py_ssize_t number
        if self._fields is None:
            return False
        for number in range(self._field_count):
            if not _is_same(texts[self._field_places[number]], PyTuple_GET_ITEM(self._fields, number)):
                return False
        return True

    cdef int _learn(self, tuple texts) except -1:
        """Find out how messages with such a section header begin; 0 where they are unusual."""
        cdef tuple fields = tuple([texts[self._field_places[number]] for number in range(self._field_count)])
        start = self._begins.starts.get(fields)
        if start is None:
            start = self._begins.learn(fields, texts)
        if start is None:
            return 0
        before, own, count = start.before, start.own, start.count
        self._fields, self._before, self._own, self._count = fields, before, own, count
        return 1

    cdef int _begin(self, Output *out, int64_t *numbers, key, own_key, PyObject **texts) except -1:
        """Write the section header, and the annotations."""
        cdef bytes own = self._own
        cdef uint32_t count = _TIMED + self._count + 2 * <uint32_t>self._annotation_count
        cdef Py_ssize_t start
        cdef uint8_t *form
        values.put(out, self._before)
        start = values.opened(out, HEAD_32)
        values.room(out, PyBytes_GET_SIZE(self._form) + 1 + values.MOST_DIGITS)
        form = out.at
        values.append(out, PyBytes_AS_STRING(self._form), PyBytes_GET_SIZE(self._form))
        values.set_number(form + self._partition_at, <uint64_t>numbers[0], 4)
        values.set_number(form + self._offset_at, <uint64_t>numbers[1], 8)
        values.set_number(form + self._sequence_at, <uint64_t>numbers[1], 8)
        values.set_number(form + self._time_at, <uint64_t>numbers[2], 8)
        if not values.append_digits(out, numbers[1]):
            return 0
        if own_key is not None:
            encoded, key_count = own_key
            values.put(out, encoded)
            count += <uint32_t>key_count
        elif key is not None:
            _write_key(out, key)
            count += _KEY_COUNT
        if not _write_values(out, self._steps, self._annotation_count, texts, numbers[2]):
            return 0
        values.put(out, own)
        return values.closed(out, start, HEAD_32, c"r", 0xC1, count)


cdef inline bint _is_same(PyObject *text, PyObject *other) noexcept:
    """Compare texts, each of which may be None."""
    if text == other:
        return True
    if text == <PyObject *>None or other == <PyObject *>None:
        return False
    cdef Py_ssize_t size = PyBytes_GET_SIZE(<object>text)
    if size != PyBytes_GET_SIZE(<object>other):
        return False
    return memcmp(PyBytes_AS_STRING(<object>text), PyBytes_AS_STRING(<object>other), size) == 0


cdef inline bint _is_name(name, str expected) except -1:
    if name is expected:
        return True
    return type(name) is str and <str>name == expected


cdef inline bint _read_number(number, int64_t *value) except -1:
    cdef int overflow = 0
    if not PyLong_CheckExact(number):
        return False
    value[0] = PyLong_AsLongLongAndOverflow(number, &overflow)
    return overflow == 0


cdef inline bint _is_short_and_ascii(bytes key) noexcept:
    return PyBytes_GET_SIZE(key) <= UINT8_MAX and values.is_ascii(PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))


cdef int _write_key(Output *out, bytes key) except -1:
    """Write the annotations of a short key in ASCII."""
    cdef const char *text = PyBytes_AS_STRING(key)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(key)
    values.put(out, _KEY)
    values.put_sized(out, STRING8, text, size)
    values.put(out, _KAFKA_KEY)
    values.put_sized(out, BINARY8, text, size)
    values.put(out, _PARTITION_KEY)
    return values.put_sized(out, STRING8, text, size)


cdef int _write_values(Output *out, Step *steps, Py_ssize_t count, PyObject **texts, int64_t time_ms) except -1:
    """Write some values, with what stands before each; 0 if one is not what its writer takes."""
    cdef Py_ssize_t number, size
    cdef Step *step
    cdef PyObject *text
    for number in range(count):
        step = &steps[number]
        values.room(out, step.before_size + values.MOST_BESIDE_TEXT)
        values.append(out, step.before, step.before_size)
        if step.kind == RECORD_TIME:
            values.append_number(out, TIMESTAMP, 1)
            values.append_number(out, <uint64_t>time_ms, 8)
            continue
        text = texts[step.place]
        if step.kind == OTHER:
            encoded = (<object>step.write)(<object>text)
            if not PyBytes_CheckExact(encoded):
                return 0
            values.put(out, <bytes>encoded)
            continue
        if text == <PyObject *>None:
            return 0
        size = PyBytes_GET_SIZE(<object>text)
        values.room(out, size + values.MOST_BESIDE_TEXT)
        if not _write_value(out, step, PyBytes_AS_STRING(<object>text), size):
            return 0
    return 1


cdef inline int _write_value(Output *out, Step *step, const char *text, Py_ssize_t size) except -1:
    if step.kind == STRING:
        return values.is_utf_8(text, size) and values.append_sized(out, STRING8, text, size)
    if step.kind == SYMBOL:
        return values.is_ascii(text, size) and values.append_sized(out, SYMBOL8, text, size)
    if step.kind == BINARY:
        return values.append_sized(out, BINARY8, text, size)
    if step.kind == BOOLEAN:
        return values.append_boolean(out, text, size)
    if step.kind == INTEGER:
        return values.append_integer(out, &step.integer, text, size)
    if step.kind == DOUBLE:
        return values.append_double(out, text, size)
    return values.append_uuid(out, text, size)


cdef object _with_body(Output *out, bytes value):
    """Give the message: what was written, and the value as a data section."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(value)
    cdef Py_ssize_t used
    cdef bytes message
    values.room(out, 3 + values.MOST_BESIDE_TEXT)
    values.append(out, "\0Su", 3)
    if not values.append_size(out, BINARY8, size):
        return None
    used = out.at - out.start
    message = PyBytes_FromStringAndSize(NULL, used + size)
    memcpy(PyBytes_AS_STRING(message), out.start, used)
    memcpy(PyBytes_AS_STRING(message) + used, PyBytes_AS_STRING(value), size)
    return message
