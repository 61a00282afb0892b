"""The names that the ancestor of this bridge had for conditions, for clients that were written for it.

Source: the constants of its class AmqpBridge (Strimzi Kafka bridge, while it spoke AMQP).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Dialect: TypeAlias = Literal["amqp", "strimzi"]
"""Which names of conditions peers are told: AMQP's own, or those of the ancestor where it had one."""

FORMER_KEY: Final = "io.strimzi:condition"
"""The key of a condition's info that has the ancestor's name for it."""

SEND: Final = "io.strimzi:error-to-kafka"
PARTITION: Final = "io.strimzi:partition-not-exists"
NO_GROUP: Final = "io.strimzi:no-group-id"
SUBSCRIBE: Final = "io.strimzi:kafka-subscribe"
NO_PARTITION_FILTER: Final = "io.strimzi:no-partition-filter"
WRONG_PARTITION_FILTER: Final = "io.strimzi:wrong-partition-filter"
WRONG_OFFSET_FILTER: Final = "io.strimzi:wrong-offset-filter"
WRONG_FILTER: Final = "io.strimzi:wrong-filter"
