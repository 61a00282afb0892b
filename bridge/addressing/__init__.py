"""Addresses of links: every dialect parsed into one frozen value. Pure.

`parse_source` takes the target of an AMQP sender, `parse_sink` the source of an AMQP receiver; what
cannot be served raises AddressError with the condition for the peer. `no_group` is the error for a
receiver that needs a group and has none.
"""

from __future__ import annotations

from bridge.addressing.addresses import SinkAddress, SourceAddress, no_group, parse_sink, parse_source
from bridge.addressing.errors import AddressError

__all__ = ["AddressError", "SinkAddress", "SourceAddress", "no_group", "parse_sink", "parse_source"]
