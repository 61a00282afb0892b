from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.config import ConfigError, Settings, load, resolve

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "bridge.properties"


def _load(file: Path, text: str, **environment: str) -> Settings:
    file.write_text(text, encoding="utf-8")
    return load(file, environment)


def _problems(file: Path, text: str, **environment: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        _load(file, text, **environment)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.problems) + 1
    return [line.strip().replace(f"{file} ", "") for line in lines[1:]]


def test_nothing_given_is_the_defaults(file: Path) -> None:
    assert load(None, {}) == Settings()
    assert _load(file, "# nothing\n") == Settings()


def test_the_environment_overrides_the_file(file: Path) -> None:
    text = "amqp.port=1\namqp.host = bridge.example \nkafka.producer.linger.ms=5\nlog.level=DEBUG\n"
    settings = _load(file, text, BRIDGE_AMQP_PORT="2", BRIDGE_KAFKA_PRODUCER_LINGER_MS="7", PATH="/bin")
    assert settings.amqp.port == 2
    assert settings.amqp.host == "bridge.example"
    assert settings.log.level == "debug"
    assert settings.kafka.producer == {"linger.ms": "7"}


def test_every_section_is_filled(file: Path) -> None:
    text = (
        "amqp.mixed.settled=acks0\nsink.rejected=detach\nkafka.acks=1\n"
        "management.enabled=false\nlog.format=console\nshutdown.grace.ms=0\n"
        "kafka.client.id=a\nkafka.consumer.check.crcs=true\nkafka.bootstrap.servers=a:1, b:2\n"
    )
    settings = _load(file, text)
    assert settings.amqp.mixed_settled == "acks0"
    assert settings.sink.rejected == "detach"
    assert settings.kafka.acks == "1"
    assert settings.kafka.bootstrap_servers == "a:1,b:2"
    assert settings.kafka.common == {"client.id": "a"}
    assert settings.kafka.consumer == {"check.crcs": "true"}
    assert settings.management.enabled is False
    assert settings.log.format == "console"
    assert settings.shutdown.grace_ms == 0


def test_a_file_of_the_java_bridge_is_understood(file: Path) -> None:
    text = """\
#Apache Kafka common
kafka.bootstrapServers=kafka:9092
#Apache Kafka producer
kafka.producer.acks=1
#Apache Kafka consumer
kafka.consumer.auto.offset.reset=earliest
#AMQP related settings
amqp.enabled=true
amqp.flowCredit=100
amqp.mode=SERVER
amqp.host=0.0.0.0
amqp.port=5672
amqp.certDir=
amqp.messageConverter=io.strimzi.kafka.bridge.amqp.converter.AmqpDefaultMessageConverter
http.enabled=false
"""
    settings = _load(file, text)
    assert settings.kafka.bootstrap_servers == "kafka:9092"
    assert settings.kafka.acks == "1"
    assert settings.kafka.consumer == {"auto.offset.reset": "earliest"}
    assert settings.amqp.host == "0.0.0.0"  # noqa: S104 - compared with, not bound to
    assert settings.amqp.prefetch_credit == settings.amqp.manual_credit == 100


@pytest.mark.parametrize(
    ("reset", "start"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ("Largest", "latest"),
        ("end", "latest"),
        ("beginning", "earliest"),
        ("error", "earliest"),
    ],
)
def test_the_reset_of_consumers_says_where_receivers_begin(file: Path, reset: str, start: str) -> None:
    settings = _load(file, f"kafka.consumer.auto.offset.reset={reset}\n")
    assert settings.sink.start == start
    assert settings.kafka.consumer == {"auto.offset.reset": reset}
    settings = _load(file, f"kafka.consumer.auto.offset.reset={reset}\n", BRIDGE_SINK_START="10m")
    assert settings.sink.start == "10m"
    assert settings.kafka.consumer == {"auto.offset.reset": reset}


def test_an_old_name_of_the_reset_says_where_receivers_begin(file: Path) -> None:
    file.write_text("auto.offset.reset=latest\n", encoding="utf-8")
    resolution = resolve(file, {})
    assert resolution.settings.sink.start == "latest"
    assert resolution.entries["sink.start"].written == "auto.offset.reset"


def test_a_wrong_start_is_not_replaced_by_the_reset(file: Path) -> None:
    [problem] = _problems(file, "sink.start=soon\nkafka.consumer.auto.offset.reset=latest\n")
    assert problem.startswith("line 1: sink.start: ")


def test_all_problems_are_told_at_once_with_their_lines(file: Path) -> None:
    text = "amqp.prot=1\namqp.port=many\nsink.rejected=\nkafka.acks=0\namqp.mode=CLIENT\n"
    problems = _problems(file, text, BRIDGE_LOG_LEVEL="loud", BRIDGE_AMQP_PROT="1")
    assert [problem.rsplit(": ", 1)[0] for problem in problems[:2]] == [
        "line 1: amqp.prot",
        "line 2: amqp.port",
    ]
    assert problems[0] == "line 1: amqp.prot: no such option; did you mean amqp.port?"
    assert problems[1] == "line 2: amqp.port: 'many' is not a whole number"
    assert problems[2] == "line 3: sink.rejected: is empty; give a value or leave it out"
    assert problems[3].startswith("line 4: kafka.acks: '0' is not allowed: ")
    assert problems[4].startswith("line 5: amqp.mode: CLIENT is not offered")
    assert problems[5:] == [
        "environment variable BRIDGE_AMQP_PROT: no such variable; did you mean BRIDGE_AMQP_PORT?",
        "environment variable BRIDGE_LOG_LEVEL: log.level: 'loud' is not one of debug, info, warning, error",
    ]


def test_a_key_twice_is_refused_with_both_lines(file: Path) -> None:
    assert _problems(file, "amqp.port=1\n\namqp.port=1\n") == ["line 3: amqp.port: is set already, in line 1"]


def test_an_old_name_beside_the_new_one_is_refused(file: Path) -> None:
    assert _problems(file, "kafka.bootstrapServers=a\nkafka.bootstrap.servers=a\n") == [
        "line 2: kafka.bootstrapServers (line 1) sets kafka.bootstrap.servers as well; keep one"
    ]
    assert _problems(file, "amqp.manual.credit=5\namqp.flowCredit=5\n") == [
        "line 2: amqp.flowCredit: amqp.manual.credit (line 1) sets amqp.manual.credit as well; keep one"
    ]


def test_the_environment_may_override_an_old_name(file: Path) -> None:
    settings = _load(file, "amqp.flowCredit=5\n", BRIDGE_AMQP_MANUAL_CREDIT="7")
    assert settings.amqp.prefetch_credit == 5
    assert settings.amqp.manual_credit == 7


def test_a_wrong_value_is_told_under_the_name_that_was_written(file: Path) -> None:
    assert _problems(file, "bind.port=x\n") == ["line 1: bind.port: 'x' is not a whole number"]


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("amqp.Port", "amqp.port"),
        ("amqp_port", "amqp.port"),
        ("linger.ms", "kafka.producer.linger.ms"),
        ("security.protocol", "kafka.security.protocol"),
        ("kafka.bootstrap.server", "kafka.bootstrap.servers"),
        ("managment.enabled", "management.enabled"),
        ("AMQP_PORT", "amqp.port"),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest_one(file: Path, key: str, nearest: str) -> None:
    assert _problems(file, f"{key}=hunter2\n") == [f"line 1: {key}: no such option; did you mean {nearest}?"]


def test_a_key_that_resembles_nothing_is_refused_without_advice(file: Path) -> None:
    assert _problems(file, "zz.yy=hunter2\n") == ["line 1: zz.yy: no such option"]


def test_unknown_properties_are_left_to_librdkafka_with_a_doubt(file: Path) -> None:
    file.write_text("kafka.producer.ling.ms=5\nkafka.of.tomorrow=5\n", encoding="utf-8")
    resolution = resolve(file, {})
    assert resolution.settings.kafka.producer == {"ling.ms": "5"}
    assert resolution.settings.kafka.common == {"of.tomorrow": "5"}
    assert [(doubt.key, doubt.nearest) for doubt in resolution.doubts] == [
        ("kafka.producer.ling.ms", "kafka.producer.linger.ms"),
        ("kafka.of.tomorrow", None),
    ]


def test_a_contradiction_is_told_where_one_of_its_keys_is_given(file: Path) -> None:
    message = "amqp.port and management.port are both 8080; one port cannot serve both"
    assert _problems(file, "\namqp.port=8080\n") == [f"line 2: {message}"]
    assert _problems(file, "", BRIDGE_AMQP_PORT="8080") == [
        f"environment variable BRIDGE_AMQP_PORT: {message}"
    ]


def test_a_wrong_value_is_not_told_as_a_contradiction_too(file: Path) -> None:
    text = "management.port=x\namqp.port=8080\nkafka.sasl.mechanism=PLAIN\n"
    problems = _problems(file, text + "kafka.security.protocol=a\nkafka.security.protocol=b\n")
    assert [problem.split(":")[0] for problem in problems] == ["line 1", "line 5"]


def test_blanks_around_values_are_dropped_but_not_from_secrets(file: Path) -> None:
    text = (
        "kafka.security.protocol=SASL_SSL \nkafka.sasl.mechanism=PLAIN \n"
        "kafka.sasl.password=hunter2 \nkafka.sasl.username=bridge \n"
    )
    assert _load(file, text).kafka.common == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.password": "hunter2 ",
        "sasl.username": "bridge",
    }


PEM = """\
kafka.security.protocol=SSL
kafka.ssl.key.pem=-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj
MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu
Zm9vYmFyYmF6cXV4Ag==
-----END PRIVATE KEY-----
"""


def test_lines_of_a_key_that_were_not_joined_are_not_shown(file: Path) -> None:
    problems = _problems(file, PEM)
    assert [problem.split(":")[0] for problem in problems] == [
        "line 3",
        "line 4",
        "line 5",
        "line 6",
    ]
    for problem in problems:
        assert "may be a part of a secret" in problem
        assert "Zm9v" not in problem
        assert "MII" not in problem


def test_a_key_in_joined_lines_is_one_value(file: Path) -> None:
    joined = PEM.replace("\n", "\\n\\\n").replace("SSL\\n\\\n", "SSL\n")
    value = _load(file, joined).kafka.common["ssl.key.pem"]
    assert value == PEM.split("kafka.ssl.key.pem=")[1]


@pytest.mark.parametrize(
    "text",
    [
        "kafka.sasl.password=hunter2\n",
        "kafka.sasl.password=hunter2\nkafka.sasl.password=hunter2\n",
        "kafka.sasl.jaas.config=org.example.Login required password=hunter2;\n",
        "kafka.ssl.truststore.password=hunter2\n",
        "amqp.sasl.password=hunter2\n",
        "kafka.sasl.password=\\uhunter2\n",
        "kafka.bootstrap.servers=user:hunter2@kafka:9092\n",
    ],
)
def test_an_error_shows_no_secret(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value)
    assert "hunter2" not in repr(caught.value.problems)


def test_a_resolution_shows_no_secret(file: Path) -> None:
    text = "kafka.security.protocol=SSL\nkafka.ssl.key.password=hunter2\n"
    file.write_text(text, encoding="utf-8")
    assert "hunter2" not in repr(resolve(file, {}))


def test_a_missing_file_is_a_problem_beside_others(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "nowhere", {"BRIDGE_LOG_LEVEL": "loud"})
    assert [str(problem).split(":")[0] for problem in caught.value.problems] == [
        f"cannot read {tmp_path / 'nowhere'}",
        "environment variable BRIDGE_LOG_LEVEL",
    ]
