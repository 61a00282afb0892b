# AMQP's encoding to the bytes of Kafka headers, in C: those readers of `bridge.mapping.to_text` that are most used.
#
# A function `write_...` writes a text into room for LONGEST characters and gives how many it has; 0 where there is no
# such text. Want of memory is all that one may fail for.

from cpython.conversion cimport Py_DTSF_ADD_DOT_0, PyOS_double_to_string
from cpython.mem cimport PyMem_Free
from libc.math cimport isinf, isnan, signbit
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, strlen

cdef extern from "<float.h>":
    int FLT_EVAL_METHOD

cdef enum:
    LONGEST = 40  # characters: UUIDs have 36, a double -2.2250738585072014e-308 has 24
    DIGITS_MAX = 20  # of 2^64
    WIDEST_HEX = 16  # octets: decimal128
    PLACES_MAX = 6  # behind the point, that are tried before the general way


cdef inline uint64_t read_number(const uint8_t *octets, Py_ssize_t width) noexcept:
    """Read `width` octets, at most 8, the highest first."""
    cdef uint64_t number = 0
    cdef Py_ssize_t place
    for place in range(width):
        number = (number << 8) | octets[place]
    return number


cdef inline Py_ssize_t write_digits(char *text, uint64_t number) noexcept:
    cdef char[DIGITS_MAX] digits
    cdef Py_ssize_t first = DIGITS_MAX
    while True:
        first -= 1
        digits[first] = c"0" + <char>(number % 10)
        number //= 10
        if number == 0:
            break
    memcpy(text, digits + first, DIGITS_MAX - first)
    return DIGITS_MAX - first


cdef inline Py_ssize_t write_unsigned(char *text, const uint8_t *octets, Py_ssize_t width) noexcept:
    return write_digits(text, read_number(octets, width))


cdef inline Py_ssize_t write_signed(char *text, const uint8_t *octets, Py_ssize_t width) noexcept:
    """Write a number of two's complement."""
    cdef uint64_t number = read_number(octets, width)
    if octets[0] < 0x80:
        return write_digits(text, number)
    if width < 8:
        number |= ~<uint64_t>0 << (8 * width)
    text[0] = c"-"
    return 1 + write_digits(text + 1, 0 - number)


cdef inline Py_ssize_t write_word(char *text, const char *word) noexcept:
    cdef Py_ssize_t size = <Py_ssize_t>strlen(word)
    memcpy(text, word, size)
    return size


cdef inline Py_ssize_t write_boolean(char *text, uint8_t octet) noexcept:
    if octet > 1:
        return 0
    return write_word(text, "true" if octet else "false")


cdef inline Py_ssize_t write_hexadecimal(char *text, const uint8_t *octets, Py_ssize_t width) noexcept:
    cdef const char *digits = "0123456789abcdef"
    cdef Py_ssize_t place
    for place in range(width):
        text[2 * place] = digits[octets[place] >> 4]
        text[2 * place + 1] = digits[octets[place] & 0xF]
    return 2 * width


cdef inline Py_ssize_t write_uuid(char *text, const uint8_t *octets) noexcept:
    write_hexadecimal(text, octets, 4)
    write_hexadecimal(text + 9, octets + 4, 2)
    write_hexadecimal(text + 14, octets + 6, 2)
    write_hexadecimal(text + 19, octets + 8, 2)
    write_hexadecimal(text + 24, octets + 10, 6)
    text[8] = text[13] = text[18] = text[23] = c"-"
    return 36


cdef inline Py_ssize_t write_short_decimal(char *text, double magnitude) noexcept:
    """Write a double that a decimal of at most 15 digits stands for, with few of them behind the point; else 0.

    Any two such decimals are different doubles (DBL_DIG): if one of them is this double, no other one is, and it is
    what repr() writes. Whether it is, is told without a doubt by the quotient, which is rounded once; that the product
    is the nearest whole number's is a guess.
    """
    cdef uint64_t digits, scale = 1
    cdef Py_ssize_t size, places, place
    if FLT_EVAL_METHOD != 0 or not (magnitude == 0 or 0.001 <= magnitude < 1e9):
        return 0
    for places in range(1, PLACES_MAX + 1):
        scale *= 10
        digits = <uint64_t>(magnitude * <double>scale + 0.5)
        if <double>digits / <double>scale == magnitude:
            break
    else:
        return 0
    size = write_digits(text, digits // scale)
    text[size] = c"."
    digits %= scale
    for place in range(places):
        text[size + places - place] = c"0" + <char>(digits % 10)
        digits //= 10
    return size + 1 + places


cdef inline Py_ssize_t write_double(char *text, const uint8_t *octets) except -1:
    """Write the shortest text that reads back to the same double."""
    cdef uint64_t bits = read_number(octets, 8)
    cdef double value = 0
    cdef char *written
    cdef Py_ssize_t size
    memcpy(&value, &bits, sizeof(value))
    if isnan(value):
        return write_word(text, "NaN")
    if isinf(value):
        return write_word(text, "Infinity" if value > 0 else "-Infinity")
    if signbit(value):
        text[0] = c"-"
        size = write_short_decimal(text + 1, -value)
        if size:
            return size + 1
    else:
        size = write_short_decimal(text, value)
        if size:
            return size
    written = PyOS_double_to_string(value, c"r", 0, Py_DTSF_ADD_DOT_0, NULL)
    size = <Py_ssize_t>strlen(written)
    if size > LONGEST:
        size = 0
    memcpy(text, written, size)
    PyMem_Free(written)
    return size
