"""Every error of librdkafka and of Kafka's protocol, and what it means to a record or a link. Data only.

Each error is in exactly one table, which a test sees to: none is read by accident.

A producer's report tells of the last attempt alone: one before it, in a request whose answer was lost,
may have been stored. So a refusal that may pass is "perhaps stored" even if it says that nothing was
written. Refusals that will not pass are about the record itself: no attempt can have succeeded.

Sources: librdkafka's rdkafka.h and the handling of produce errors in its rdkafka_request.c (version 2.16);
the error table of the Kafka protocol guide.
"""

from __future__ import annotations

from typing import Final

from bridge.model import conditions

PERMANENT: Final[dict[str, str]] = {
    # the record
    "MSG_SIZE_TOO_LARGE": conditions.LINK_MESSAGE_SIZE_EXCEEDED,
    "RECORD_LIST_TOO_LARGE": conditions.LINK_MESSAGE_SIZE_EXCEEDED,
    "INVALID_RECORD": conditions.PRECONDITION_FAILED,
    "INVALID_TIMESTAMP": conditions.PRECONDITION_FAILED,
    "POLICY_VIOLATION": conditions.PRECONDITION_FAILED,
    "_INVALID_ARG": conditions.INVALID_FIELD,
    # its topic and partition
    "UNKNOWN_TOPIC_OR_PART": conditions.NOT_FOUND,
    "UNKNOWN_TOPIC_ID": conditions.NOT_FOUND,
    "_UNKNOWN_TOPIC": conditions.NOT_FOUND,
    "_UNKNOWN_PARTITION": conditions.INVALID_FIELD,
    "TOPIC_EXCEPTION": conditions.INVALID_FIELD,
    # what the bridge may do
    "TOPIC_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    "GROUP_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    "CLUSTER_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    # what this cluster can do
    "INVALID_REQUIRED_ACKS": conditions.PRECONDITION_FAILED,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": conditions.PRECONDITION_FAILED,
    "UNSUPPORTED_COMPRESSION_TYPE": conditions.PRECONDITION_FAILED,
    "UNSUPPORTED_VERSION": conditions.NOT_IMPLEMENTED,
    "_UNSUPPORTED_FEATURE": conditions.NOT_IMPLEMENTED,
    "_NOT_IMPLEMENTED": conditions.NOT_IMPLEMENTED,
    # a consumer group that cannot be joined
    "INVALID_GROUP_ID": conditions.INVALID_FIELD,
    "INVALID_REGULAR_EXPRESSION": conditions.INVALID_FIELD,
    "GROUP_MAX_SIZE_REACHED": conditions.RESOURCE_LIMIT_EXCEEDED,
    "SHARE_SESSION_LIMIT_REACHED": conditions.RESOURCE_LIMIT_EXCEEDED,
    "INCONSISTENT_GROUP_PROTOCOL": conditions.PRECONDITION_FAILED,
    "UNSUPPORTED_ASSIGNOR": conditions.PRECONDITION_FAILED,
}
"""What the same message, or the same attach, will meet again, with its AMQP condition."""

OF_A_BATCH: Final = frozenset(
    {
        "MSG_SIZE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "POLICY_VIOLATION",
        "_INVALID_DIFFERENT_RECORD",
    }
)
"""What a broker answers for a whole batch. In a report it is about the record itself, or a neighbour.

Kafka says which record it was (KIP-467), but librdkafka 2.16 passes that on only if it was more than one.
"""

PARTITION_MISSING: Final = frozenset({"_UNKNOWN_PARTITION"})
"""The permanent one that says that a partition is not there: also of what waits when a topic is deleted."""

TOPIC_MISSING: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC"})
"""The permanent ones that say that there is no such topic (any more)."""

FENCED: Final = frozenset({"_FENCED", "PRODUCER_FENCED", "FENCED_INSTANCE_ID"})
"""Somebody else goes on under the same identity. What was under way may have been completed before."""

FATAL: Final = frozenset(
    {
        "_FATAL",
        "_GAPLESS_GUARANTEE",
        "_INCONSISTENT",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "INVALID_PRODUCER_EPOCH",
        "UNKNOWN_PRODUCER_ID",
        "INVALID_PRODUCER_ID_MAPPING",
        "INVALID_TXN_STATE",
        "INVALID_TRANSACTION_TIMEOUT",
    }
)
"""An idempotent or transactional producer has lost track and goes on no more; a new one may."""

NOT_STORED: Final = frozenset(
    {
        # The client's queue took nothing.
        "_QUEUE_FULL",
        # The batch is checked as a whole before any of it is appended, and each time with the same result:
        # this record had a neighbour that is not valid.
        "_INVALID_DIFFERENT_RECORD",
        "THROTTLING_QUOTA_EXCEEDED",
    }
)
"""What may pass, and was surely not stored."""

PERHAPS_STORED: Final = frozenset(
    {
        # no answer, or none that can be read
        "_MSG_TIMED_OUT",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "REQUEST_TIMED_OUT",
        "NETWORK_EXCEPTION",
        "_TRANSPORT",
        "_BAD_MSG",
        "_UNDERFLOW",
        "_PARTIAL",
        # A connection that fails takes what is in flight on it along, under the name of its own failure.
        "_RESOLVE",
        "_SSL",
        "_AUTHENTICATION",
        "SASL_AUTHENTICATION_FAILED",
        "ILLEGAL_SASL_STATE",
        "UNSUPPORTED_SASL_MECHANISM",
        "_ALL_BROKERS_DOWN",
        "_NODE_UPDATE",
        "_DESTROY_BROKER",
        # the partition's leader, or its replicas
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "BROKER_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "_ISR_INSUFF",
        "KAFKA_STORAGE_ERROR",
        "INVALID_MSG",
        "INVALID_REQUEST",
        "UNKNOWN",
        # transactions and their coordinator; whether they were committed is for the one who commits
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "CONCURRENT_TRANSACTIONS",
        "OPERATION_NOT_ATTEMPTED",
        "TRANSACTION_ABORTABLE",
        "_WAIT_COORD",
        "_STATE",
        "_CONFLICT",
        "_IN_PROGRESS",
        "_PREV_IN_PROGRESS",
        "_NOT_CONFIGURED",
        # Stored already, says the broker; librdkafka counts it as a success if it is its own.
        "DUPLICATE_SEQUENCE_NUMBER",
        # A batch that waits to be sent again is purged by the same name as one that was never sent.
        "_PURGE_QUEUE",
        "_PURGE_INFLIGHT",
        # the client itself
        "_DESTROY",
        "_FAIL",
        "_CRIT_SYS_RESOURCE",
        "_INTR",
        "_OUTDATED",
        "_RETRY",
    }
)
"""What may pass, and may have been stored."""

OF_OTHERS: Final = frozenset(
    {
        # consumers: what they fetch, and where they are
        "OFFSET_OUT_OF_RANGE",
        "INVALID_MSG_SIZE",  # of a fetch; the protocol's own name is INVALID_FETCH_SIZE
        "OFFSET_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "FETCH_SESSION_ID_NOT_FOUND",
        "INVALID_FETCH_SESSION_EPOCH",
        "INCONSISTENT_TOPIC_ID",
        "_PARTITION_EOF",
        "_NO_OFFSET",
        "_AUTO_OFFSET_RESET",
        "_LOG_TRUNCATION",
        "_BAD_COMPRESSION",
        "_MAX_POLL_EXCEEDED",
        # consumers: their groups
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "MEMBER_ID_REQUIRED",
        "INVALID_SESSION_TIMEOUT",
        "REBALANCE_IN_PROGRESS",
        "OFFSET_METADATA_TOO_LARGE",
        "INVALID_COMMIT_OFFSET_SIZE",
        "UNSTABLE_OFFSET_COMMIT",
        "FENCED_MEMBER_EPOCH",
        "STALE_MEMBER_EPOCH",
        "UNRELEASED_INSTANCE_ID",
        "STREAMS_INVALID_TOPOLOGY",
        "STREAMS_INVALID_TOPOLOGY_EPOCH",
        "STREAMS_TOPOLOGY_FENCED",
        "_UNKNOWN_GROUP",
        "_UNKNOWN_PROTOCOL",
        "_EXISTING_SUBSCRIPTION",
        "_ASSIGN_PARTITIONS",
        "_REVOKE_PARTITIONS",
        "_ASSIGNMENT_LOST",
        # share groups
        "INVALID_RECORD_STATE",
        "SHARE_SESSION_NOT_FOUND",
        "INVALID_SHARE_SESSION_EPOCH",
        "FENCED_STATE_EPOCH",
        # administration
        "TOPIC_ALREADY_EXISTS",
        "INVALID_PARTITIONS",
        "INVALID_REPLICATION_FACTOR",
        "INVALID_REPLICA_ASSIGNMENT",
        "INVALID_CONFIG",
        "TOPIC_DELETION_DISABLED",
        "SECURITY_DISABLED",
        "LOG_DIR_NOT_FOUND",
        "REASSIGNMENT_IN_PROGRESS",
        "NO_REASSIGNMENT_IN_PROGRESS",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "ELECTION_NOT_NEEDED",
        "NON_EMPTY_GROUP",
        "GROUP_ID_NOT_FOUND",
        "GROUP_SUBSCRIBED_TO_TOPIC",
        "RESOURCE_NOT_FOUND",
        "DUPLICATE_RESOURCE",
        "UNACCEPTABLE_CREDENTIAL",
        "INVALID_PRINCIPAL_TYPE",
        "PRINCIPAL_DESERIALIZATION_FAILURE",
        "DELEGATION_TOKEN_AUTH_DISABLED",
        "DELEGATION_TOKEN_NOT_FOUND",
        "DELEGATION_TOKEN_OWNER_MISMATCH",
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        "DELEGATION_TOKEN_EXPIRED",
        "FEATURE_UPDATE_FAILED",
        "MISMATCHED_ENDPOINT_TYPE",
        "UNSUPPORTED_ENDPOINT_TYPE",
        "UNKNOWN_CONTROLLER_ID",
        # brokers and controllers among themselves
        "STALE_CTRL_EPOCH",
        "STALE_BROKER_EPOCH",
        "NOT_CONTROLLER",
        "LISTENER_NOT_FOUND",
        "TRANSACTION_COORDINATOR_FENCED",
        "INCONSISTENT_VOTER_SET",
        "INVALID_UPDATE_VERSION",
        "INVALID_REGISTRATION",
        "INVALID_VOTER_KEY",
        "DUPLICATE_VOTER",
        "VOTER_NOT_FOUND",
        # the client's metrics and its search for brokers
        "UNKNOWN_SUBSCRIPTION_ID",
        "TELEMETRY_TOO_LARGE",
        "REBOOTSTRAP_REQUIRED",
        # librdkafka's interface to programs, and its inside
        "NO_ERROR",
        "_FS",
        "_WAIT_CACHE",
        "_READ_ONLY",
        "_NOENT",
        "_INVALID_TYPE",
        "_NOOP",
        "_APPLICATION",
        "_UNKNOWN_BROKER",
        "_KEY_SERIALIZATION",
        "_VALUE_SERIALIZATION",
        "_KEY_DESERIALIZATION",
        "_VALUE_DESERIALIZATION",
    }
)
"""What a producer of records never reports. If it does, it is read like what nobody knows yet."""
