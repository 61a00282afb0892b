"""Laws of addresses: nothing but AddressError for any text, and what is printed parses back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.addressing import AddressError, SinkAddress, SourceAddress, no_group, parse_sink, parse_source
from bridge.model.conditions import INVALID_FIELD, NOT_IMPLEMENTED

if TYPE_CHECKING:
    from collections.abc import Callable

LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")

topics = st.from_regex(LEGAL_TOPIC, fullmatch=True).filter(lambda name: name not in {".", ".."})
groups = st.text(min_size=1, max_size=255).filter(str.isprintable)
partitions = st.integers(0, 2**31 - 1)

# Groups that no form of address takes for something else.
plain_groups = st.from_regex(r"[A-Za-z0-9._$ -]{1,40}", fullmatch=True).filter(lambda name: name != "$info")
yes = st.sampled_from([True])
sinks = st.one_of(
    st.builds(SinkAddress, topics, groups.filter(lambda group: not f"/{group}".endswith("/$info"))),
    st.builds(SinkAddress, topics, groups, info=yes),
    st.builds(SinkAddress, topics, plain_groups, st.none() | partitions, event_hubs=yes),
    st.builds(SinkAddress, topics, partition=st.none() | partitions),
    st.builds(SinkAddress, topics, share=plain_groups),
    st.builds(SinkAddress, topics, info=yes),
)

# Text that has the shape of an address more often than chance would have it.
parts = st.sampled_from(
    ["/", "//", "group.id", "Partitions", "ConsumerGroups", "share", "$info", "orders", "0", "amqp://", ""]
)
texts = st.one_of(
    st.text(),
    st.text(st.characters()),  # lone surrogates among them
    st.lists(st.one_of(parts, st.text(max_size=5)), max_size=12).map("/".join),
)


def _parse(
    parse: Callable[[str], SourceAddress | SinkAddress], text: str
) -> SourceAddress | SinkAddress | None:
    try:
        return parse(text)
    except AddressError as error:
        refused = error
    assert refused.condition in {INVALID_FIELD, NOT_IMPLEMENTED}
    assert refused.description.isprintable()
    assert len(refused.description) < 1000
    return None


@given(texts)
@example("orders/group.id/a/group.id")
def test_any_text_is_an_address_or_an_address_error(text: str) -> None:
    source = _parse(parse_source, text)
    if source is not None:
        assert LEGAL_TOPIC.fullmatch(source.topic)
        assert parse_source(str(source)) == source
    sink = _parse(parse_sink, text)
    if isinstance(sink, SinkAddress):
        assert sink.group != ""
        assert sink.share != ""
        assert sink.share is None or sink == SinkAddress(sink.topic, share=sink.share)
        assert not sink.info or sink.partition is None
        assert sink.event_hubs or sink.group is None or sink.partition is None
        assert parse_sink(str(sink)) == sink
        assert LEGAL_TOPIC.fullmatch(sink.topic)
        assert len(no_group(sink).description) < 1000


@given(topics, st.none() | partitions)
def test_printed_addresses_of_senders_parse_back(topic: str, partition: int | None) -> None:
    address = SourceAddress(topic, partition)
    assert parse_source(str(address)) == address


@given(sinks)
def test_printed_addresses_of_receivers_parse_back(address: SinkAddress) -> None:
    assert parse_sink(str(address)) == address


@given(topics, st.none() | partitions)
def test_slashes_and_dots_are_the_same_topic(topic: str, partition: int | None) -> None:
    suffix = "" if partition is None else f"/Partitions/{partition}"
    path = topic.replace(".", "/")
    if "" in path.split("/"):
        with pytest.raises(AddressError):
            parse_source(f"x/{path}/{suffix}")
    elif not any(f"/{word}/" in f"/{path}/" for word in ("Partitions", "ConsumerGroups")):
        assert parse_source(path + suffix) == SourceAddress(topic, partition)
        assert parse_source(f"/{path}{suffix}") == SourceAddress(topic, partition)


@given(topics, texts)
@example("market", "share")
def test_a_sender_and_a_receiver_read_one_address_alike(topic: str, rest: str) -> None:
    """What both take and no group is in is the same topic and partition; no sender takes a group."""
    address = f"{topic}/{rest}" if rest else topic
    source, sink = _parse(parse_source, address), _parse(parse_sink, address)
    if isinstance(source, SourceAddress) and isinstance(sink, SinkAddress) and sink.share is None:
        assert sink == SinkAddress(source.topic, partition=source.partition)
