"""Filters of any form: read and answered as they were sent, or their link is refused."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.amqp_values import BY_TYPE, scalars, symbols
from support.frames import AMQP_HEADER, make_begin, make_frame, make_receivers_attach
from support.wire import Outgoing, Pair

from bridge import codec
from bridge.amqp import native
from bridge.amqp.links import OutgoingLink
from bridge.model import conditions
from bridge.model.conditions import Condition
from cproton_ffi import lib

OPENING = AMQP_HEADER + make_frame("open", fields={"container-id": "by-hand"}) + make_begin()
KEY = codec.encode(codec.Symbol("key"))


def _is_plain(value: object) -> bool:
    return not isinstance(value, codec.Described)


values: st.SearchStrategy[object] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(st.tuples(inner, inner), max_size=3).map(codec.Map)
        | st.builds(codec.Described, symbols | BY_TYPE["ulong"], inner.filter(_is_plain))
    ),
    max_leaves=8,
)
"""What filters are made of: no arrays, and no descriptors of descriptors, some of which proton misreads."""


def applying_all(link: OutgoingLink) -> None:
    """Answer as an endpoint would that knows all filters."""
    if link.request.malformed:
        link.refuse(Condition(conditions.INVALID_FIELD, link.request.malformed))
    else:
        link.open(Outgoing(), frozenset(link.request.filters))


def attach(filters: bytes) -> tuple[OutgoingLink, object]:
    """Attach with an encoded filter-set. Gives the link, and the filter-set of the answer."""
    links: list[OutgoingLink] = []
    answered: object = None

    def answer(link: object) -> None:
        nonlocal answered
        assert isinstance(link, OutgoingLink)
        links.append(link)
        applying_all(link)
        # Before proton has written it: what it writes is what it holds.
        raw = native.encoded(lib.pn_terminus_filter(lib.pn_link_source(link.pointer)))
        answered = codec.decode(raw)[0] if raw else None

    with Pair(answer=answer, sniff=False) as pair:
        pair.inject(OPENING)
        pair.inject(make_receivers_attach(filters=filters))
        assert pair.engine.flush(lambda _data: None)
    return links[0], answered


def encoded(value: object) -> object:
    """Make a value comparable, types included."""
    return codec.encode(value)


@settings(max_examples=80)
@given(st.dictionaries(symbols, values, max_size=3))
def test_filters_are_read_and_answered_as_they_were_sent(filters: dict[codec.Symbol, object]) -> None:
    sent = codec.Map(filters.items())
    link, answered = attach(codec.encode(sent))
    assert link.request.malformed == ""
    given_filters = [(name, value) for name, value in sent if value is not None]
    assert [(name, encoded(value)) for name, value in link.request.filters.items()] == [
        (str(name), encoded(value)) for name, value in given_filters
    ]
    assert encoded(answered) == encoded(codec.Map(given_filters) if given_filters else None)


@settings(max_examples=150)
@given(st.binary(max_size=40))
@example(b"")
@example(b"\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x40")
@example(b"\xe0\x02\x01\x00")
@example(b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\x40")
def test_whatever_stands_for_a_filter_harms_nobody(damaged: bytes) -> None:
    elements = b"\x00\x00\x00\x02" + KEY + damaged
    link, answered = attach(b"\xd1" + len(elements).to_bytes(4, "big") + elements)
    if link.request.malformed:
        assert (link.ended, answered) == (True, None)
    elif link.request.filters:
        [(name, value)] = link.request.filters.items()
        assert encoded(answered) == encoded(codec.Map([(codec.Symbol(name), value)]))
