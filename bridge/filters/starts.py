"""Where to begin, as text: the words that people write, and the selectors of Event Hubs' clients.

`parse_start` is for the configuration and for filters alike; `event_hubs_start` is for the text of a
selector-filter. Both know nothing of AMQP, of topics or of the present: an age stays an age.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from bridge.filters.errors import quoted
from bridge.model.receiving import EARLIEST, LATEST, Position, Start

FORMS: Final = "earliest, latest, an age as in 10m (ms, s, m, h, d), or a time as in 2026-01-31T12:00:00Z"
"""What `parse_start` takes, for messages."""

LAST_OFFSET: Final = 2**63 - 1
LONGEST_AGE_MS: Final = 36_500 * 86_400_000
"""A hundred years: before anything that Kafka keeps."""

_WORDS: Final = {"earliest": EARLIEST, "-1": EARLIEST, "latest": LATEST, "@latest": LATEST}
_AGE: Final = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)")
_UNIT_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_POSITION: Final = re.compile(
    r"\s*amqp\.annotation\.(x-opt-offset|x-opt-sequence-number|x-opt-enqueued-time|x-opt-enqueuedtimeutc)"
    r"\s*(>=?)\s*(?:'([^']*)'|(@latest|-?[0-9]+))\s*"
)
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")


def parse_start(text: str) -> Start:
    """Parse a place to begin at. Raises ValueError, whose text says what is allowed.

    - `earliest`, or Event Hubs' `-1`; `latest`, or Event Hubs' `@latest`
    - an age: a whole number and `ms`, `s`, `m`, `h` or `d`, up to a hundred years: `10m`
    - a time as in RFC 3339: `2026-01-31T12:00:00Z`, with an offset, or with none in UTC. What is finer than
      a millisecond counts as the next one. Before 1970 is earliest.

    A number alone is refused: it could be an offset, seconds or milliseconds.
    """
    word = _WORDS.get(text)
    if word is not None:
        return word
    age = _AGE.fullmatch(text)
    if age:
        value = int(age[1]) * _UNIT_MS[age[2]]
        if value > LONGEST_AGE_MS:
            raise ValueError(
                f"{quoted(text)} is more than a hundred years; for all that is there, say earliest"
            )
        return Start(Position.AGE, value)
    time = _TIME.fullmatch(text)
    if time:
        milliseconds = _milliseconds(text, time)
        return EARLIEST if milliseconds < 0 else Start(Position.TIME, milliseconds)
    if _NUMBER.fullmatch(text):
        raise ValueError(f"{quoted(text)} could be an offset, seconds or milliseconds; a start is {FORMS}")
    raise ValueError(f"{quoted(text)} is not a start: {FORMS}")


def event_hubs_start(selector: str) -> Start | None:
    """Give the position that is the whole of a selector of an Event Hubs client, None for any other text.

    Their forms are `amqp.annotation.<what> > '<value>'` and `>=`, of `x-opt-offset`,
    `x-opt-sequence-number` (both are Kafka's offset here) and `x-opt-enqueued-time` (milliseconds since
    the epoch; `x-opt-enqueuedtimeutc` in older clients), with `-1` for the first record and `@latest` for
    the end. The clients for Python, Java, JavaScript, Go and C++ quote the value, the one for .NET does
    not. `> n` begins at n + 1, `>= n` at n; what is below zero is the first record.

    Raises ValueError where the form is theirs and the value is none that Kafka could have: the offsets of
    a geo-replicated namespace, for example, mean nothing here, and would match nothing.
    """
    match = _POSITION.fullmatch(selector)
    if not match:
        return None
    name, operator, text, bare = match.groups()
    value = text if bare is None else bare
    timed = "time" in name
    if value == "@latest" and not timed:
        return LATEST
    position = int(value) if _WHOLE.fullmatch(value) else LAST_OFFSET
    if position >= LAST_OFFSET:
        kind = "a time in milliseconds" if timed else "an offset of Kafka, -1 or @latest"
        raise ValueError(f"{quoted(value)}, which {name} is compared with, is not {kind}")
    if position < 0:  # not offset 0, which may be gone
        return EARLIEST
    return Start(Position.TIME if timed else Position.OFFSET, position + (operator == ">"))


def _milliseconds(text: str, parts: re.Match[str]) -> int:
    """Give the milliseconds since the epoch of a time in parts: date, time of day, fraction, offset."""
    date, time, fraction, offset = parts.groups()
    zone = "+00:00" if offset in {None, "Z", "z"} else offset
    try:
        moment = datetime.fromisoformat(f"{date}T{time}{zone}")
    except ValueError:
        raise ValueError(
            f"{quoted(text)} has the form of a time, but there is no such date or hour"
        ) from None
    nanoseconds = int((fraction or "").ljust(9, "0"))
    return (moment - _EPOCH) // timedelta(milliseconds=1) - (-nanoseconds // 1_000_000)
