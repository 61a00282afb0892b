# Texts of Kafka headers to AMQP's encoding, in C: those writers of `bridge.mapping.from_text` that are most used.
#
# A function `append_...` writes where there is room: MOST_BESIDE_TEXT bytes more than the text has. It gives 0 where
# its writer gives None, and else writes what that one gives. A function `put_...` makes room first; want of memory
# is all that these fail for.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.conversion cimport Py_DTSF_ADD_DOT_0, PyOS_double_to_string
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.ref cimport PyObject, Py_XDECREF
from libc.math cimport INFINITY, NAN, isfinite
from libc.stdint cimport UINT8_MAX, UINT32_MAX, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, strlen

cdef extern from "Python.h":
    # They raise, and are not declared so: what is raised is dropped at once.
    double PyOS_string_to_double(const char *, char **, PyObject *)
    PyObject *PyUnicode_DecodeUTF8(const char *, Py_ssize_t, const char *)
    PyObject *PyErr_Occurred()
    void PyErr_Clear()

cdef extern from "<float.h>":
    int FLT_EVAL_METHOD

cdef enum:
    MOST_BESIDE_TEXT = 17  # a UUID's constructor and bytes, though they replace its text
    HEAD_8 = 6  # descriptor, constructor, size and count of a section
    HEAD_32 = 12
    MOST_DIGITS = 19  # of an offset, its sign included; bridge.mapping.passage has no more
    LONGEST_INTEGER = 20  # digits
    LONGEST_DOUBLE = 24  # characters: -2.2250738585072014e-308
    SURE_DIGITS = 15  # of a decimal whose double is no other such decimal's
    UUID_LENGTH = 36


# ------------------------------------------------------------------ bytes

cdef struct Output:
    # What was written, from `start` to `at`, and the room behind it.
    uint8_t *start
    uint8_t *at
    uint8_t *end
    bint on_heap


cdef inline int room(Output *out, Py_ssize_t size) except -1:
    """Make room for `size` more bytes. Pointers to what was written are void."""
    cdef Py_ssize_t used = out.at - out.start
    cdef Py_ssize_t whole = 2 * (used + size)
    cdef uint8_t *moved
    if out.end - out.at >= size:
        return 1
    moved = <uint8_t *>PyMem_Realloc(out.start if out.on_heap else NULL, whole)
    if moved == NULL:
        raise MemoryError
    if not out.on_heap:
        memcpy(moved, out.start, used)
    out.start, out.at, out.end, out.on_heap = moved, moved + used, moved + whole, True
    return 1


cdef inline void append(Output *out, const char *octets, Py_ssize_t size) noexcept:
    memcpy(out.at, octets, size)
    out.at += size


cdef inline int put(Output *out, bytes octets) except -1:
    room(out, PyBytes_GET_SIZE(octets))
    append(out, PyBytes_AS_STRING(octets), PyBytes_GET_SIZE(octets))
    return 1


cdef inline void set_number(uint8_t *at, uint64_t value, int width) noexcept:
    """Write the last `width` bytes of a number, the highest first."""
    cdef int place
    for place in range(width):
        at[place] = <uint8_t>(value >> (8 * (width - 1 - place)))


cdef inline void append_number(Output *out, uint64_t value, int width) noexcept:
    set_number(out.at, value, width)
    out.at += width


cdef inline int append_digits(Output *out, int64_t number) noexcept:
    """Write how many digits a number has, and these; needs room for 1 + MOST_DIGITS. 0 if that is not enough."""
    cdef char[MOST_DIGITS + 1] digits
    cdef uint64_t rest = <uint64_t>number if number >= 0 else 0 - <uint64_t>number
    cdef int first = MOST_DIGITS + 1
    while True:
        first -= 1
        digits[first] = c"0" + <char>(rest % 10)
        rest //= 10
        if rest == 0:
            break
    if number < 0:
        first -= 1
        digits[first] = c"-"
    if first == 0:
        return 0
    append_number(out, MOST_DIGITS + 1 - first, 1)
    append(out, digits + first, MOST_DIGITS + 1 - first)
    return 1


# ------------------------------------------------------------------ texts

cdef inline bint is_ascii(const char *text, Py_ssize_t size) noexcept:
    cdef uint8_t all_bits = 0
    cdef Py_ssize_t place
    for place in range(size):
        all_bits |= <uint8_t>text[place]
    return all_bits < 0x80


cdef inline bint is_utf_8(const char *text, Py_ssize_t size) noexcept:
    cdef PyObject *decoded
    if is_ascii(text, size):
        return True
    decoded = PyUnicode_DecodeUTF8(text, size, NULL)
    if decoded == NULL:
        PyErr_Clear()
    Py_XDECREF(decoded)
    return decoded != NULL


cdef inline bint is_equal(const char *text, Py_ssize_t size, const char *other) noexcept:
    return <size_t>size == strlen(other) and memcmp(text, other, size) == 0


cdef inline int append_size(Output *out, uint8_t constructor, Py_ssize_t size) noexcept:
    """Write what stands before a string, symbol or binary; `constructor` is the one with a size of one byte."""
    if size <= UINT8_MAX:
        append_number(out, constructor, 1)
        append_number(out, <uint64_t>size, 1)
        return 1
    append_number(out, constructor + 0x10, 1)
    append_number(out, <uint64_t>size, 4)
    return <uint64_t>size <= UINT32_MAX


cdef inline int append_sized(Output *out, uint8_t constructor, const char *text, Py_ssize_t size) noexcept:
    if not append_size(out, constructor, size):
        return 0
    append(out, text, size)
    return 1


cdef inline int put_sized(Output *out, uint8_t constructor, const char *text, Py_ssize_t size) except -1:
    room(out, size + MOST_BESIDE_TEXT)
    return append_sized(out, constructor, text, size)


# ------------------------------------------------------------------ values

cdef struct Integer:
    # `most` and `least`: the limits, without sign. `small`: the constructor of values of one byte, if there is one;
    # `zero`: that of 0.
    uint8_t constructor, width, small, zero
    bint has_sign
    uint64_t most, least


cdef inline int append_boolean(Output *out, const char *text, Py_ssize_t size) noexcept:
    if is_equal(text, size, "true"):
        append_number(out, 0x41, 1)
        return 1
    if is_equal(text, size, "false"):
        append_number(out, 0x42, 1)
        return 1
    return 0


cdef inline int append_integer(Output *out, const Integer *kind, const char *text, Py_ssize_t size) noexcept:
    cdef uint64_t value = 0
    cdef uint8_t digit
    cdef Py_ssize_t place
    cdef bint is_negative = size > 0 and text[0] == c"-"
    if is_negative:
        text += 1
        size -= 1
    if size < 1 or size > LONGEST_INTEGER or (text[0] == c"0" and (size > 1 or is_negative)):
        return 0
    for place in range(size):
        digit = <uint8_t>(text[place] - c"0")
        # Only a twentieth digit can be too much: 2^64 is 18446744073709551616.
        if digit > 9 or (place == 19 and value >= 1844674407370955161 + (digit <= 5)):
            return 0
        value = 10 * value + digit
    if value > (kind.least if is_negative else kind.most):
        return 0
    if value == 0 and kind.zero:
        append_number(out, kind.zero, 1)
        return 1
    if is_negative:
        value = 0 - value
    if kind.small and (value + 0x80 if kind.has_sign else value) <= UINT8_MAX:
        append_number(out, kind.small, 1)
        append_number(out, value, 1)
        return 1
    append_number(out, kind.constructor, 1)
    append_number(out, value, kind.width)
    return 1


cdef inline bint is_sure_decimal(const char *text, Py_ssize_t size, double *value) noexcept:
    """Read a decimal of at most 15 digits that is, beyond doubt, the text that stands for its double.

    Any two such decimals are different doubles (DBL_DIG), so that there is no shorter one for the same double; and
    from 0.0001 on they are written without an exponent. Their digits and a power of ten are doubles without
    a loss, so that the quotient is rounded once: it is the nearest double.
    """
    cdef uint64_t digits = 0, scale = 0  # 0 until the point
    cdef Py_ssize_t place, first = 1 if size > 0 and text[0] == c"-" else 0
    cdef uint8_t digit
    if FLT_EVAL_METHOD != 0 or size - first < 3 or size - first > SURE_DIGITS + 1:
        return False
    for place in range(first, size):
        if text[place] == c"." and scale == 0 and place > first:
            scale = 1
            continue
        digit = <uint8_t>(text[place] - c"0")
        if digit > 9:
            return False
        digits = 10 * digits + digit
        scale *= 10
    if scale < 10 or (text[first] == c"0" and text[first + 1] != c"."):
        return False
    if (text[size - 1] == c"0" and scale > 10) or (digits != 0 and 10000 * digits < scale):
        return False
    value[0] = <double>digits / <double>scale
    if first:
        value[0] = -value[0]
    return True


cdef inline bint is_decimal(const char *text, Py_ssize_t size, double *value) noexcept:
    """Read any finite double, if the text is the one that repr() gives for it."""
    cdef char *end = NULL
    cdef char *written
    cdef bint is_same
    if size > LONGEST_DOUBLE:
        return False
    value[0] = PyOS_string_to_double(text, &end, NULL)
    if PyErr_Occurred() != NULL:
        PyErr_Clear()
        return False
    if end != text + size or not isfinite(value[0]):
        return False
    written = PyOS_double_to_string(value[0], c"r", 0, Py_DTSF_ADD_DOT_0, NULL)
    is_same = written != NULL and is_equal(text, size, written)
    PyMem_Free(written)
    return is_same


cdef inline int append_double(Output *out, const char *text, Py_ssize_t size) noexcept:
    cdef double value = 0
    cdef uint64_t bits = 0
    if is_equal(text, size, "NaN"):
        value = NAN
    elif is_equal(text, size, "Infinity"):
        value = INFINITY
    elif is_equal(text, size, "-Infinity"):
        value = -INFINITY
    elif not (is_sure_decimal(text, size, &value) or is_decimal(text, size, &value)):
        return 0
    memcpy(&bits, &value, sizeof(bits))
    append_number(out, 0x82, 1)
    append_number(out, bits, 8)
    return 1


cdef inline uint8_t hexadecimal(char digit) noexcept:
    """Give the value of a digit in lower case; for anything else more than 15."""
    if c"0" <= digit <= c"9":
        return <uint8_t>(digit - c"0")
    if c"a" <= digit <= c"f":
        return <uint8_t>(digit - c"a" + 10)
    return UINT8_MAX


cdef inline int append_uuid(Output *out, const char *text, Py_ssize_t size) noexcept:
    cdef Py_ssize_t place = 0
    cdef uint8_t high, low
    if size != UUID_LENGTH:
        return 0
    append_number(out, 0x98, 1)
    while place < UUID_LENGTH:
        if place == 8 or place == 13 or place == 18 or place == 23:
            if text[place] != c"-":
                return 0
            place += 1
        high, low = hexadecimal(text[place]), hexadecimal(text[place + 1])
        if high > 0xF or low > 0xF:
            return 0
        append_number(out, (high << 4) | low, 1)
        place += 2
    return 1


# ------------------------------------------------------------------ sections

cdef inline Py_ssize_t opened(Output *out, Py_ssize_t head_size) except -1:
    """Leave room for what stands before a section's content: HEAD_8 or HEAD_32 bytes. Gives where, for `closed`."""
    room(out, head_size)
    out.at += head_size
    return out.at - out.start - head_size


cdef inline int closed(
    Output *out, Py_ssize_t start, Py_ssize_t head_size, uint8_t section, uint8_t constructor, uint64_t count
) except -1:
    """Write what stands before the content of a section that is a list or map; 0 if that is too large.

    `constructor` is the one with a size of one byte. Where HEAD_8 bytes were left, the sizes are as small as they can
    be, and a section without content is left out.
    """
    cdef uint64_t size = <uint64_t>(out.at - out.start - start - head_size)
    cdef uint8_t *at = out.start + start
    if head_size == HEAD_8 and size == 0:
        out.at = at
        return 1
    if head_size == HEAD_8 and size < UINT8_MAX and count <= UINT8_MAX:
        at[0], at[1], at[2] = 0x00, 0x53, section
        at[3], at[4], at[5] = constructor, <uint8_t>(size + 1), <uint8_t>count
        return 1
    if head_size == HEAD_8:
        room(out, HEAD_32 - HEAD_8)
        at = out.start + start
        memmove(at + HEAD_32, at + HEAD_8, size)
        out.at += HEAD_32 - HEAD_8
    at[0], at[1], at[2], at[3] = 0x00, 0x53, section, constructor + 0x10
    set_number(at + 4, size + 4, 4)
    set_number(at + 8, count, 4)
    return size + 4 <= UINT32_MAX and count <= UINT32_MAX
