from __future__ import annotations

import pytest

from bridge.config.librdkafka_names import READ_BY
from bridge.config.redaction import HIDDEN, PassThrough, is_secret, shown

SECRET_PROPERTIES = {
    "sasl.password",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.token.endpoint.url",
    "oauthbearer_token_refresh_cb",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.password",
}


def test_of_librdkafkas_properties_exactly_these_are_hidden() -> None:
    assert {name for name in READ_BY if is_secret(name)} == SECRET_PROPERTIES


@pytest.mark.parametrize(
    "key",
    [
        "kafka.sasl.password",
        "kafka.producer.ssl.key.pem",
        "BRIDGE_KAFKA_SASL_PASSWORD",
        "BRIDGE_KAFKA_SSL_KEY_PEM",
        "kafka.sasl.jaas.config",
        "kafka.ssl.keystore.key",
        "some.api.Token",
        "my.PASSWD",
    ],
)
def test_keys_that_sound_secret_are(key: str) -> None:
    assert is_secret(key)
    assert shown(key, "hunter2") == HIDDEN


@pytest.mark.parametrize("key", ["amqp.port", "kafka.ssl.key.location", "kafka.acks"])
def test_other_values_are_shown(key: str) -> None:
    assert shown(key, "value") == "value"


def test_what_is_shown_stays_on_one_line() -> None:
    assert shown("kafka.https.ca.pem", "a\nb\x1b[31m\u2028ü") == "a\\nb\\x1b[31m\\u2028ü"


def test_pass_through_is_a_read_only_mapping() -> None:
    options = PassThrough({"linger.ms": "5", "sasl.password": "hunter2"})
    assert dict(options) == {"linger.ms": "5", "sasl.password": "hunter2"}
    assert len(options) == 2
    assert options.redacted() == {"linger.ms": "5", "sasl.password": HIDDEN}
    assert repr(options) == f"PassThrough({{'linger.ms': '5', 'sasl.password': '{HIDDEN}'}})"
    assert not hasattr(options, "__dict__")
