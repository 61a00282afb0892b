"""A Kafka that asks for a password and says who may do what, for a bridge that may not do everything.

Who comes by the plain listener may do all: that is how a test gives rights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import admin
from confluent_kafka.admin import AdminClient
from support.kafka import OwnKafka

if TYPE_CHECKING:
    from bridge.devkafka import DevKafka

_JAAS: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_LISTENER: Final = "SECURE"
_SECONDS: Final = 30.0

LISTENERS: Final = {_LISTENER: "SASL_PLAINTEXT"}
USERS: Final = ("alice", "bob")
"""Their passwords are their names."""
PROPERTIES: Final = {
    "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.secure.plain.sasl.jaas.config": " ".join(
        (_JAAS, *(f'user_{user}="{user}"' for user in USERS))
    )
    + ";",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""For `DevKafka`, with `LISTENERS`."""


class GuardedKafka(OwnKafka):
    """Such a cluster."""

    def __init__(self, cluster: DevKafka) -> None:
        super().__init__(cluster)
        self._rights = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})

    def options(self, user: str, password: str | None = None) -> dict[str, str]:
        """Return the options with which a service comes as that user."""
        return {
            "kafka.bootstrap.servers": self.cluster.addresses(_LISTENER),
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": user,
            "kafka.sasl.password": password or user,
        }

    def allow(self, user: str, operation: str, topic: str) -> None:
        """Let a user do something with a topic; the broker knows it a moment later."""
        names: Any = admin  # mypy sees none of those that it has from elsewhere
        binding = names.AclBinding(
            names.ResourceType.TOPIC,
            topic,
            names.ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            names.AclOperation[operation],
            names.AclPermissionType.ALLOW,
        )
        self._rights.create_acls([binding])[binding].result(_SECONDS)
