"""librdkafka itself judges the options: a client is made from them, and no broker is needed for that."""

from __future__ import annotations

from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from bridge.kafka import settings

NOBODY: Final = "127.0.0.1:1"


def ignore(_client: str, _name: str, _text: str, _fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
    """Take an error's report."""


def producer(acks: str, /, **pass_through: str) -> dict[str, Any]:
    given = {name.replace("_", "."): value for name, value in pass_through.items()}
    options = settings.producer(NOBODY, given, acks=acks, message_max_bytes=1_000_000, on_error=ignore)
    del options["error_cb"]  # a new function each time, which would make all options differ
    return options


def consumer(**pass_through: str) -> dict[str, Any]:
    given = {name.replace("_", "."): value for name, value in pass_through.items()}
    options = settings.consumer(NOBODY, given, group="group", queue_bytes=4_194_304, on_error=ignore)
    del options["error_cb"]
    return options


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_librdkafka_takes_the_producers_options(acks: str) -> None:
    Producer(producer(acks))


def test_librdkafka_takes_the_consumers_and_the_admins_options() -> None:
    Consumer(consumer()).close()
    Consumer(consumer(group_protocol="consumer")).close()
    AdminClient(settings.admin(NOBODY, {}, on_error=ignore))


def test_only_all_is_idempotent() -> None:
    assert {acks: producer(acks)["enable.idempotence"] for acks in ("all", "1", "0")} == {
        "all": True,
        "1": False,
        "0": False,
    }


def test_without_idempotence_retries_may_not_overtake() -> None:
    assert producer("1")["max.in.flight.requests.per.connection"] == 1
    assert producer("1", max_in_flight_requests_per_connection="5") == producer("1")


def test_keys_go_where_javas_clients_put_them() -> None:
    assert producer("all")["partitioner"] == "murmur2_random"


def test_a_message_of_the_largest_size_fits_with_its_headers() -> None:
    assert producer("all")["message.max.bytes"] > 1_000_000


def test_what_operators_set_wins_over_the_defaults() -> None:
    assert producer("all", linger_ms="50")["linger.ms"] == "50"
    assert consumer(auto_offset_reset="latest")["auto.offset.reset"] == "latest"
    assert settings.admin(NOBODY, {"client.id": "mine"}, on_error=ignore)["client.id"] == "mine"


@pytest.mark.parametrize(
    ("name", "value"),
    [("acks", "0"), ("enable_idempotence", "false"), ("message_max_bytes", "1000")],
)
def test_what_a_producer_promises_cannot_be_set(name: str, value: str) -> None:
    assert producer("all", **{name: value}) == producer("all")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("group_id", "another"),
        ("enable_auto_commit", "true"),
        ("enable_auto_offset_store", "true"),
        ("enable_partition_eof", "false"),
    ],
)
def test_what_a_consumer_promises_cannot_be_set(name: str, value: str) -> None:
    assert consumer(**{name: value}) == consumer()


def options_of(**given: Any) -> dict[str, Any]:  # noqa: ANN401 - arguments of settings.producer
    defaults: dict[str, Any] = {"acks": "all", "message_max_bytes": 1_000_000, "on_error": ignore}
    return settings.producer(NOBODY, given.pop("pass_through", {}), **{**defaults, **given})


def test_the_queue_holds_what_it_is_told_and_at_least_the_largest_message() -> None:
    assert options_of(queue_bytes=10 << 20)["queue.buffering.max.kbytes"] == 10 << 10
    largest = options_of()["message.max.bytes"]
    assert options_of(queue_bytes=1)["queue.buffering.max.kbytes"] * 1024 >= largest
    assert [settings.queue_records(options_of(queue_bytes=n << 20)) for n in (0, 48, 4096)] == [
        settings.QUEUE_RECORDS_MIN,
        98_304,
        settings.QUEUE_RECORDS_MAX,
    ]
    set_by_operators = {"queue.buffering.max.kbytes": "5", "queue.buffering.max.messages": "7"}
    assert options_of(pass_through=set_by_operators)["queue.buffering.max.kbytes"] == "5"
    assert settings.queue_records(options_of(pass_through=set_by_operators)) == 7


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_batches_are_as_large_as_it_is_told(acks: str) -> None:
    small = options_of(acks=acks, batch_max_bytes=1024, pass_through={"batch.size": "100000"})
    assert settings.batch_bytes(small) == 1024
    Producer(small)
    assert settings.batch_bytes(options_of(acks=acks, pass_through={"batch.size": "100000"})) == 100_000
    assert settings.batch_bytes(options_of(acks=acks)) == 1_000_000
    # librdkafka takes the smaller of the two
    assert settings.batch_bytes(options_of(acks=acks, message_max_bytes=1000)) == 1000 + 65_536


def test_the_admin_sees_soon_that_a_broker_is_back_unless_operators_want_it_later() -> None:
    assert settings.admin(NOBODY, {}, on_error=ignore)["reconnect.backoff.max.ms"] == 1000
    given = {"reconnect.backoff.ms": "5000"}
    AdminClient(settings.admin(NOBODY, given, on_error=ignore))


def read_ahead(queue_bytes: int) -> tuple[int, int, int]:
    options = settings.consumer(NOBODY, {}, group="group", queue_bytes=queue_bytes, on_error=ignore)
    Consumer(options).close()  # librdkafka takes them together
    records = options["queued.min.messages"] * settings.AHEAD_RECORD_BYTES
    return options["queued.max.messages.kbytes"] * 1024, options["fetch.max.bytes"], records


@pytest.mark.parametrize("queue_mib", [4, 8, 64, 200])
def test_what_is_read_ahead_is_bounded_with_what_is_under_way(queue_mib: int) -> None:
    queue_bytes = queue_mib << 20
    assert queue_bytes // 2 <= sum(read_ahead(queue_bytes)) <= queue_bytes


def test_the_bounds_of_what_is_read_ahead_are_such_that_librdkafka_takes_them() -> None:
    assert read_ahead(1) == read_ahead(4 << 20)
    assert read_ahead(1 << 30)[1] == settings.FETCH_BYTES_MAX
    given = {"max_partition_fetch_bytes": "5000000", "isolation_level": "read_uncommitted"}
    Consumer(consumer(**given)).close()


def test_only_what_is_committed_is_read_unless_operators_want_all() -> None:
    assert consumer()["isolation.level"] == "read_committed"
    assert consumer(isolation_level="read_uncommitted")["isolation.level"] == "read_uncommitted"


def test_a_static_member_has_its_identity_and_others_have_none() -> None:
    options = settings.consumer(
        NOBODY, {}, group="group", queue_bytes=1, on_error=ignore, instance_id="container.link-1"
    )
    Consumer(options).close()
    assert options["group.instance.id"] == "container.link-1"
    assert "group.instance.id" not in consumer()


def test_who_asks_for_offsets_sees_as_much_as_the_consumers() -> None:
    for given in ({}, {"isolation.level": "read_uncommitted"}, {"group.protocol": "consumer"}):
        options = settings.asking(NOBODY, given, on_error=ignore)
        Consumer(options).close()
        assert options["isolation.level"] == given.get("isolation.level", "read_committed")


def test_an_error_is_reported_with_its_client() -> None:
    reported = []
    options = settings.admin(
        NOBODY, {}, on_error=lambda client, name, _text, fatal: reported.append((client, name, fatal))
    )
    admin = AdminClient(options)

    while not reported:
        admin.poll(0.1)

    assert reported[0] == ("admin", "_TRANSPORT", False)
