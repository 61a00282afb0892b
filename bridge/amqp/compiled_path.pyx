# cython: language_level=3, boundscheck=False, wraparound=False
"""The hot path in C: what `bridge.amqp.hot_path` does for usual deliveries, by proton's functions themselves.

Through the binding each of the ten calls that a message takes gives Python's lock away and takes it again, and
makes an object of each pointer. Here proton is called directly, and the lock is kept: none of these functions
waits for anything. Only usual deliveries are taken: messages that a link wants, whole or in parts for which
there is room, and the outcome accepted. All others stay where they are, for the ordinary way.

Handles are the same objects in both ways, cffi's pointers: they are made and read by the functions that cffi has
for compiled modules. Where the binding is not what is expected here the import fails, and the ordinary way does
all.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint64_t, uintptr_t

import _cffi_backend

from bridge.amqp.assembly import Assembly
from bridge.model.outcomes import DeliveryState
from cproton_ffi import ffi, lib

cdef extern from *:
    """
    typedef struct { size_t size; const char *start; } bridge_bytes;
    """
    ctypedef bint c_bool "_Bool"
    ctypedef struct Bytes "bridge_bytes":
        size_t size
        const char *start

# The C types are those of proton's headers, with `void *` for what only it looks into.
ctypedef void *(*GetPointer)(void *) noexcept
ctypedef c_bool (*GetBool)(void *) noexcept
ctypedef size_t (*GetSize)(void *) noexcept
ctypedef uint64_t (*GetState)(void *) noexcept
ctypedef void (*Settle)(void *) noexcept
ctypedef void (*Update)(void *, uint64_t) noexcept
ctypedef void *(*Begin)(void *, Bytes) noexcept
ctypedef ssize_t (*Copy)(void *, char *, size_t) noexcept


cdef uintptr_t _function(str name, str signature) except 0:
    """Find a function of proton, which must be of the kind that is called here."""
    pointer = ffi.addressof(lib, name)
    if ffi.typeof(pointer) is not ffi.typeof(signature):
        raise ImportError(f"{name} of this proton is a {ffi.typeof(pointer).cname}")
    return int(ffi.cast("uintptr_t", pointer))


cdef GetPointer _peek_event = <GetPointer>_function("pn_collector_peek", "pn_event_t *(*)(pn_collector_t *)")
cdef GetBool _pop_event = <GetBool>_function("pn_collector_pop", "bool (*)(pn_collector_t *)")
cdef GetPointer _event_delivery = <GetPointer>_function("pn_event_delivery", "pn_delivery_t *(*)(pn_event_t *)")
cdef GetPointer _delivery_link = <GetPointer>_function("pn_delivery_link", "pn_link_t *(*)(pn_delivery_t *)")
cdef GetSize _pending = <GetSize>_function("pn_delivery_pending", "size_t (*)(pn_delivery_t *)")
cdef GetBool _partial = <GetBool>_function("pn_delivery_partial", "bool (*)(pn_delivery_t *)")
cdef GetBool _settled = <GetBool>_function("pn_delivery_settled", "bool (*)(pn_delivery_t *)")
cdef GetState _remote_state = <GetState>_function("pn_delivery_remote_state", "uint64_t (*)(pn_delivery_t *)")
cdef Settle _settle = <Settle>_function("pn_delivery_settle", "void (*)(pn_delivery_t *)")
cdef Update _update = <Update>_function("pn_delivery_update", "void (*)(pn_delivery_t *, uint64_t)")
cdef Begin _delivery = <Begin>_function("pn_delivery", "pn_delivery_t *(*)(pn_link_t *, pn_bytes_t)")
cdef Copy _recv = <Copy>_function("pn_link_recv", "ssize_t (*)(pn_link_t *, char *, size_t)")
cdef Copy _send = <Copy>_function("pn_link_send", "ssize_t (*)(pn_link_t *, char *, size_t)")
cdef GetBool _advance = <GetBool>_function("pn_link_advance", "bool (*)(pn_link_t *)")

cdef uint64_t _ACCEPTED = int(DeliveryState.ACCEPTED)

# cffi's functions for compiled modules, by their places (its `_cffi_include.h`).
ctypedef object (*FromPointer)(void *, void *)
ctypedef void *(*ToPointer)(object, void *) except? NULL

cdef void **_of_cffi = <void **>PyCapsule_GetPointer(_cffi_backend._C_API, "cffi")
cdef FromPointer _from_pointer = <FromPointer>_of_cffi[10]
cdef ToPointer _to_pointer = <ToPointer>_of_cffi[11]

cdef object _buffer_type = ffi.typeof("char *")
cdef object _collector_type = ffi.typeof("pn_collector_t *")
cdef object _delivery_type = ffi.typeof("pn_delivery_t *")
cdef object _link_type = ffi.typeof("pn_link_t *")


cdef inline object _handle(void *delivery):
    return _from_pointer(delivery, <void *>_delivery_type)


cdef inline void *_of_handle(object handle) except? NULL:
    return _to_pointer(handle, <void *>_delivery_type)


def take_usual(collector, dict links, list touched, type incoming_kind, failed, /):
    """Handle events as long as they are about usual deliveries; the next one is not, or there is none.

    `links` are those of the connection by their pointers; those that are met are added to `touched`. `failed`
    is called with a link and what its handler raised.
    """
    cdef void *events = _to_pointer(collector, <void *>_collector_type)
    cdef void *event
    cdef void *delivery
    cdef void *pointer
    cdef void *current = NULL
    cdef bint incoming = False
    cdef object link = None, call = None
    while True:
        event = _peek_event(events)
        if event == NULL:
            return
        # None, unless the event is about a delivery.
        delivery = _event_delivery(event)
        if delivery == NULL:
            return
        pointer = _delivery_link(delivery)
        if pointer != current:
            link = links.get(_from_pointer(pointer, <void *>_link_type))
            if link is None:
                return
            if not link.touched:
                link.touched = True
                touched.append(link)
            incoming = type(link) is incoming_kind
            call = None
            current = pointer
        if not incoming and (link.discards or _remote_state(delivery) != _ACCEPTED):
            return
        try:
            if call is None:
                # A link has one handler as long as anything is wanted of it.
                call = link.handler.transferred if incoming else link.handler.accepted
            if not incoming:
                call(_handle(delivery))
            elif _is_whole(delivery, link.whole_bytes_max):
                _take(link, pointer, delivery, call)
            elif not _take_part(link, pointer, delivery):
                return
        except Exception as error:
            failed(link, error)
        _pop_event(events)


cdef bint _is_whole(void *delivery, Py_ssize_t bytes_max) noexcept:
    """Tell whether a message is here in one piece, and of a size that is taken so."""
    cdef size_t count = _pending(delivery)
    return count > 1 and bytes_max > 0 and count <= <size_t>bytes_max and not _partial(delivery)


cdef int _take(object link, void *pointer, void *delivery, object transferred) except -1:
    """Take a whole message, and hand it over."""
    cdef Py_ssize_t count = <Py_ssize_t>_pending(delivery)
    cdef bytes payload = PyBytes_FromStringAndSize(NULL, count)
    cdef object handle = _handle(delivery)
    if _recv(pointer, PyBytes_AS_STRING(payload), <size_t>count) != count:
        raise RuntimeError("proton gave less of a delivery than it said there was")
    if _settled(delivery):
        link.presettled = handle
        # Settling advances the link when the delivery is its current one.
        _settle(delivery)
        transferred(handle, payload, True)
    else:
        _advance(pointer)
        transferred(handle, payload, False)
    return 0


cdef bint _take_part(object link, void *pointer, void *delivery) except -1:
    """Take what has arrived of a message of several frames, and hand it over when it is whole; tells whether it did."""
    cdef size_t count = _pending(delivery)
    cdef Py_ssize_t size, taken
    cdef bint settled
    # One that was aborted has a single byte.
    if count <= 1 or link.discards:
        return False
    parts = link.assembling
    if parts is None:
        if not _partial(delivery):
            return False
        parts = link.assembling = Assembly()
        link.whole_bytes_max = 0
    size = parts.size_bytes
    if size + <Py_ssize_t>count > min(<Py_ssize_t>link.max_message_size_bytes, <Py_ssize_t>parts.capacity_bytes):
        return False
    taken = _recv(pointer, <char *>_to_pointer(parts.buffer, <void *>_buffer_type) + size, count)
    if taken > 0:
        parts.size_bytes = size + taken
    if _partial(delivery):
        link.engine.assembles = True
        return True
    if parts.counted_bytes:
        link.handler.arriving(-parts.counted_bytes)
    link.assembled()
    _advance(pointer)
    settled = _settled(delivery)
    handle = _handle(delivery)
    if settled:
        link.presettled = handle
        _settle(delivery)
    link.handler.transferred_large(handle, parts, settled)
    parts.release()
    return True


cdef inline void *_begin(void *pointer, bytes tag, bytes payload):
    cdef Bytes span
    span.size, span.start = <size_t>PyBytes_GET_SIZE(tag), PyBytes_AS_STRING(tag)
    cdef void *delivery = _delivery(pointer, span)
    _send(pointer, PyBytes_AS_STRING(payload), <size_t>PyBytes_GET_SIZE(payload))
    return delivery


def send(self, bytes tag not None, bytes payload not None):
    """Send one message unsettled and give its delivery: see `hot_path.send`."""
    if PyBytes_GET_SIZE(payload) > <Py_ssize_t>self.whole_bytes_max:
        return self.send_large(tag, payload, settles=False)
    cdef void *pointer = _to_pointer(self.pointer, <void *>_link_type)
    cdef void *delivery = _begin(pointer, tag, payload)
    _advance(pointer)
    return _handle(delivery)


def send_settled(self, bytes tag not None, bytes payload not None):
    """Send one message that is settled already: see `hot_path.send_settled`."""
    if PyBytes_GET_SIZE(payload) > <Py_ssize_t>self.whole_bytes_max:
        self.send_large(tag, payload, settles=True)
        return
    cdef void *delivery = _begin(_to_pointer(self.pointer, <void *>_link_type), tag, payload)
    _settle(delivery)


def settle_all(deliveries):
    """Settle deliveries: see `hot_path.settle_all`."""
    for handle in deliveries:
        _settle(_of_handle(handle))


def accept(deliveries, *, bint settles):
    """Send the outcome accepted for each: see `hot_path.accept`."""
    cdef void *delivery
    for handle in deliveries:
        delivery = _of_handle(handle)
        _update(delivery, _ACCEPTED)
        if settles:
            _settle(delivery)
