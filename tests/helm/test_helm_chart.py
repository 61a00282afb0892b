from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import javaproperties
import pytest
import yaml
from support.chart import CHART, Manifest, RefusedError
from support.repository import ROOT, read

import bridge
import kubernetes_validate
from bridge.config import load
from bridge.config.redaction import is_secret
from bridge.config.routes_file import load_routes

if TYPE_CHECKING:
    from pathlib import Path

    from support.chart import Chart

    from bridge.config.routes import Routes

EXAMPLE = yaml.safe_load(read("routes.example.yaml"))["routes"]
KAFKA = {"kafka.bootstrap.servers": "kafka-0:9092,kafka-1:9092"}
LEAST: dict[str, Any] = {"bridge": {"properties": KAFKA}}
MOST: dict[str, Any] = {
    "fullnameOverride": "amqp",
    "replicaCount": 3,
    "image": {
        "repository": "images.example.org/amqp-kafka-bridge",
        "digest": f"sha256:{'0' * 64}",
        "pullPolicy": "Always",
        "pullSecrets": [{"name": "images"}],
    },
    "bridge": {
        "properties": {
            **KAFKA,
            "amqp.port": 5673,
            "amqp.max.message.size.bytes": 104_857_600,
            "kafka.acks": 1,
            "kafka.producer.linger.ms": 0.5,
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.security.protocol": "sasl_ssl",
            "kafka.ssl.ca.location": "/etc/kafka/ca.crt",
            "management.enabled": True,
            "management.port": 9000,
            "shutdown.grace.ms": 61_500,
        },
        "env": [
            {"name": "BRIDGE_KAFKA_SASL_USERNAME", "value": "bridge"},
            {
                "name": "BRIDGE_KAFKA_SASL_PASSWORD",
                "valueFrom": {"secretKeyRef": {"name": "kafka-user", "key": "password"}},
            },
        ],
        "routes": EXAMPLE,
    },
    "service": {"type": "LoadBalancer", "port": 15672, "annotations": {"example.org/a": "1"}},
    "serviceAccount": {"create": True, "name": "amqp", "annotations": {"example.org/b": "2"}},
    "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
    "volumes": [{"name": "kafka-ca", "secret": {"secretName": "kafka-ca"}}],
    "volumeMounts": [{"name": "kafka-ca", "mountPath": "/etc/kafka", "readOnly": True}],
    "podLabels": {"team": "messaging"},
    "podAnnotations": {"example.org/c": "3"},
    "priorityClassName": "high",
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    ],
}
MATRIX = {
    "least": LEAST,
    "most": MOST,
    "existing account": {**LEAST, "serviceAccount": {"create": False, "name": "theirs"}},
    "default account": {**LEAST, "serviceAccount": {"create": False}},
    "servers by environment": {
        "bridge": {"env": [{"name": "BRIDGE_KAFKA_BOOTSTRAP_SERVERS", "value": "kafka:9092"}]}
    },
}
matrix = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)


def only(manifests: dict[str, list[Manifest]], kind: str) -> Manifest:
    [manifest] = manifests[kind]
    return manifest


def pod(manifests: dict[str, list[Manifest]]) -> Manifest:
    spec: Manifest = only(manifests, "Deployment")["spec"]["template"]["spec"]
    return spec


def container(manifests: dict[str, list[Manifest]]) -> Manifest:
    [container] = pod(manifests)["containers"]
    assert isinstance(container, dict)
    return container


def properties(manifests: dict[str, list[Manifest]]) -> str:
    text = only(manifests, "ConfigMap")["data"]["bridge.properties"]
    assert isinstance(text, str)
    return text


def routes(manifests: dict[str, list[Manifest]], folder: Path) -> Routes:
    """Load the ConfigMap's routes as the service does."""
    file = folder / "routes.yaml"
    file.write_text(only(manifests, "ConfigMap")["data"]["routes.yaml"], "utf-8")
    return load_routes(file, load(None, {}))


def with_options(options: dict[str, Any]) -> dict[str, Any]:
    return {"bridge": {"properties": {**KAFKA, **options}}}


def with_routes(
    *routes: dict[str, Any], options: dict[str, Any] | None = None, env: str = ""
) -> dict[str, Any]:
    variables = [{"name": env, "value": "routes.yaml"}] if env else []
    return {"bridge": {"properties": {**KAFKA, **(options or {})}, "routes": [*routes], "env": variables}}


@pytest.mark.parametrize("values", [{}, *MATRIX.values()], ids=["defaults", *MATRIX])
def test_helm_finds_nothing_to_warn_of(chart: Chart, values: dict[str, Any]) -> None:
    assert "0 chart(s) failed" in chart.lint(values)


@matrix
@pytest.mark.parametrize("version", ["1.29.0", kubernetes_validate.latest_version()])
def test_kubernetes_knows_every_field(chart: Chart, values: dict[str, Any], version: str) -> None:
    manifests = [each for kind in chart.manifests(values).values() for each in kind]
    assert len(manifests) >= 3
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)


@matrix
def test_the_service_accepts_its_file(chart: Chart, values: dict[str, Any], tmp_path: Path) -> None:
    manifests = chart.manifests(values)
    file = tmp_path / "bridge.properties"
    file.write_text(properties(manifests), "utf-8")
    environment = {
        each["name"]: each.get("value", "from a Secret") for each in container(manifests).get("env", [])
    }
    settings = load(file, environment)
    assert (settings.amqp.host, settings.management.host) == ("0.0.0.0", "0.0.0.0")  # noqa: S104
    assert settings.management.enabled
    assert settings.kafka.bootstrap_servers is not None
    ports = {port["name"]: port["containerPort"] for port in container(manifests)["ports"]}
    assert ports == {"amqp": settings.amqp.port, "management": settings.management.port}
    assert pod(manifests)["terminationGracePeriodSeconds"] * 1000 > settings.shutdown.grace_ms


@matrix
def test_nothing_is_allowed_that_is_not_needed(chart: Chart, values: dict[str, Any]) -> None:
    manifests = chart.manifests(values)
    assert container(manifests)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(manifests)["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod(manifests)["automountServiceAccountToken"] is False
    assert pod(manifests)["enableServiceLinks"] is False


@matrix
def test_resources_find_each_other(chart: Chart, values: dict[str, Any]) -> None:
    manifests = chart.manifests(values)
    deployment, service = only(manifests, "Deployment"), only(manifests, "Service")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    ports = {port["name"] for port in container(manifests)["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} == {"amqp"} <= ports
    probes = [container(manifests)[f"{name}Probe"] for name in ("startup", "liveness", "readiness")]
    assert {probe["httpGet"]["port"] for probe in probes} == {"management"} <= ports
    assert [probe["httpGet"]["path"] for probe in probes] == ["/healthz", "/healthz", "/readyz"]
    volumes = {volume["name"]: volume for volume in pod(manifests)["volumes"]}
    assert {mount["name"] for mount in container(manifests)["volumeMounts"]} == volumes.keys()
    assert volumes["config"]["configMap"] == {"name": only(manifests, "ConfigMap")["metadata"]["name"]}
    account = pod(manifests)["serviceAccountName"]
    made = [each["metadata"]["name"] for each in manifests.get("ServiceAccount", [])]
    assert made == ([account] if values.get("serviceAccount", {}).get("create", True) else [])


@pytest.mark.parametrize(
    "value",
    [
        " blanks before and after ",
        "C:\\temp\\new",
        "two\nlines\r\nand\ta\fbreak",
        "# ! = : {{ .Values }} ${x}",
        "ключ é 日本",
        "",
    ],
)
def test_a_value_arrives_as_it_was_written(chart: Chart, value: str) -> None:
    text = properties(chart.manifests(with_options({"kafka.client.id": value})))
    assert javaproperties.loads(text)["kafka.client.id"] == value


@pytest.mark.parametrize(
    ("value", "written"),
    [(104_857_600, "104857600"), (0, "0"), (0.5, "0.5"), (True, "true"), (False, "false")],
)
def test_a_number_is_written_as_the_service_reads_it(chart: Chart, value: float, written: str) -> None:
    text = properties(chart.manifests(with_options({"kafka.some.number": value})))
    assert javaproperties.loads(text)["kafka.some.number"] == written


@pytest.mark.parametrize(
    "key",
    [
        "kafka.sasl.password",
        "kafka.ssl.key.pem",
        "kafka.ssl.key.password",
        "kafka.ssl.keystore.key",
        "kafka.sasl.jaas.config",
        "kafka.sasl.oauthbearer.client.secret",
        "kafka.sasl.oauthbearer.config",
        "kafka.consumer.Sasl_Password",
    ],
)
def test_a_secret_is_not_put_into_the_configmap(chart: Chart, key: str) -> None:
    assert is_secret(key)
    with pytest.raises(RefusedError) as refused:
        chart.manifests(with_options({key: "hunter2"}))
    assert key in str(refused.value)
    assert "Secret" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, "kafka.bootstrap.servers"),
        (with_options({"amqp.host": "127.0.0.1"}), "amqp.host"),
        (with_options({"amqp.port": 0}), "amqp.port"),
        (with_options({"management.enabled": False}), "management.enabled"),
        (with_options({"two words": "x"}), "two words"),
        (with_options({"amqp.port": None}), "amqp.port"),
        ({**LEAST, "replicas": 2}, "replicas"),
        (
            {"bridge": {"properties": KAFKA, "env": [{"name": "BRIDGE_AMQP_PORT", "value": "1"}]}},
            "env",
        ),
        (with_routes({"match": "a", "partitions": 3}), "partitions"),
        (with_routes({"topic": "a"}), "match"),
        (with_routes({"match": "a", "mapping": "json"}), "mapping"),
        (with_routes({"match": "a"}, options={"routes.file": "routes.yaml"}), "routes.file"),
        (with_routes({"match": "a"}, env="BRIDGE_ROUTES_FILE"), "BRIDGE_ROUTES_FILE"),
    ],
)
def test_what_cannot_work_is_refused_by_name(chart: Chart, values: dict[str, Any], named: str) -> None:
    with pytest.raises(RefusedError) as refused:
        chart.manifests(values)
    assert named in str(refused.value)


def test_routes_arrive_as_in_a_file_of_their_own(chart: Chart, tmp_path: Path) -> None:
    manifests = chart.manifests(MOST)
    written = load_routes(ROOT / "routes.example.yaml", load(None, {}))
    arrived = routes(manifests, tmp_path)
    assert len(arrived.rules) == len(EXAMPLE)
    assert [rule.route for rule in arrived.rules] == [rule.route for rule in written.rules]
    assert [rule.route.match for rule in arrived.rules] == [rule.route.match for rule in written.rules]
    [variable] = [each for each in container(manifests)["env"] if each["name"] == "BRIDGE_ROUTES_FILE"]
    [mount] = [each for each in container(manifests)["volumeMounts"] if each["name"] == "config"]
    assert variable["value"] == f"{mount['mountPath']}/routes.yaml"


@pytest.mark.parametrize("match", ["012", "0x10", "true", "null", "a.#", "*"])
def test_a_pattern_that_yaml_could_mistake_stays_what_it_is(chart: Chart, match: str, tmp_path: Path) -> None:
    values = with_routes({"match": match, "credit": 1_000_000})
    [rule] = routes(chart.manifests(values), tmp_path).rules
    assert (rule.route.match, rule.route.credit) == (match, 1_000_000)


def test_without_routes_there_is_no_file_of_them(chart: Chart) -> None:
    manifests = chart.manifests(LEAST)
    assert only(manifests, "ConfigMap")["data"].keys() == {"bridge.properties"}
    assert "env" not in container(manifests)


def test_the_chart_knows_the_keys_of_routes_that_the_service_knows() -> None:
    service = json.loads(read("bridge/config/routes.schema.json"))["properties"]["routes"]
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    assert schema["definitions"]["route"] == service["items"]
    assert schema["properties"]["bridge"]["properties"]["routes"]["maxItems"] == service["maxItems"]


def test_pods_are_replaced_when_their_files_change_and_only_then(chart: Chart) -> None:
    def checksum(values: dict[str, Any]) -> str:
        template = only(chart.manifests(values), "Deployment")["spec"]["template"]
        value = template["metadata"]["annotations"]["checksum/config"]
        assert isinstance(value, str)
        return value

    assert checksum(LEAST) == checksum({**LEAST, "replicaCount": 5})
    assert checksum(LEAST) != checksum(with_options({"log.level": "debug"}))
    routed, others = with_routes({"match": "orders"}), with_routes({"match": "orders", "credit": 1})
    assert len({checksum(LEAST), checksum(routed), checksum(others)}) == 3


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("demo", "demo-amqp-kafka-bridge"),
        ("amqp-kafka-bridge", "amqp-kafka-bridge"),
        ("r" * 53, f"{'r' * 53}-amqp-kafk"),
    ],
)
def test_names_follow_the_release_and_fit(chart: Chart, release: str, name: str) -> None:
    manifests = chart.manifests(LEAST, release=release)
    assert {each["metadata"]["name"] for kind in manifests.values() for each in kind} == {name}
    assert len(name) <= 63


def test_the_image_is_that_of_the_same_version_unless_told(chart: Chart) -> None:
    assert container(chart.manifests(LEAST))["image"] == f"amqp-kafka-bridge:{bridge.__version__}"
    digest = f"images.example.org/amqp-kafka-bridge@sha256:{'0' * 64}"
    assert container(chart.manifests(MOST))["image"] == digest


def test_the_schema_and_the_values_name_the_same_things() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    schema["properties"].pop("global")  # helm's own, in every chart
    assert schema["properties"].keys() == values.keys()
    for name, section in schema["properties"].items():
        if "properties" in section:
            assert section["properties"].keys() == values[name].keys(), name


def test_every_value_is_explained() -> None:
    lines = (CHART / "values.yaml").read_text("utf-8").splitlines()
    explained = False
    for line in lines:
        text = line.strip()
        if text.startswith("# -- "):
            explained = True
        elif text and not text.startswith("#"):
            options = line.startswith(" " * 4)  # the service's, which bridge.properties explains
            section = text.endswith(":")
            assert explained or options or section, f"`# -- ` is missing before: {line}"
            explained = False
