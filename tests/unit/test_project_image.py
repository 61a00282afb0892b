from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from support.repository import ROOT, pinned, read

from bridge import __version__
from bridge.config import load
from bridge.config.settings import Settings

SERVICE = "requirements/service.txt"


def stages() -> dict[str, list[tuple[str, str]]]:
    """Return the instructions of the Dockerfile and their arguments, by the name of their stage."""
    lines = [line for line in read("Dockerfile").splitlines() if not line.lstrip().startswith("#")]
    found: dict[str, list[tuple[str, str]]] = {"": []}
    stage = ""
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        instruction, arguments = line.split(maxsplit=1)
        if instruction == "FROM":
            stage = arguments.rpartition(" AS ")[2]
            found[stage] = []
        found[stage].append((instruction, " ".join(arguments.split())))
    return found


def of(stage: str, instruction: str) -> list[str]:
    return [arguments for name, arguments in stages()[stage] if name == instruction]


def environment() -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(of("service", "ENV"))))


def test_the_last_stage_is_the_service() -> None:
    assert list(stages())[-1] == "service"


def test_the_user_is_a_number_and_not_root() -> None:
    [user] = of("service", "USER")
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)


def test_the_stage_that_runs_gets_finished_parts_only() -> None:
    for command in of("service", "RUN"):
        assert not re.search(r"\b(apt|apt-get|pip|gcc|make|curl|wget)\b", command), command


def test_everything_that_is_installed_has_a_known_hash() -> None:
    commands = [part for run in of("build", "RUN") for part in run.split(" && ") if " pip " in part]
    assert len(commands) == 4
    for command in commands:
        assert "--require-hashes" in command or "--no-deps" in command, command
        if " install " not in command or "--no-index" not in command:
            assert re.search(r"--no-build-isolation|requirements/build\.txt", command), command


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    ignored, *rules = (
        line for line in read(".dockerignore").splitlines() if line and not line.startswith("#")
    )
    assert ignored == "*"
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = [
        source
        for stage in stages()
        for arguments in of(stage, "COPY")
        if not arguments.startswith("--from=")
        for source in arguments.split()[:-1]
    ]
    assert set(copied) == allowed
    for source in copied:
        assert (ROOT / source).exists(), source


def test_ports_and_file_are_those_of_the_service() -> None:
    settings = Settings()
    [ports] = of("service", "EXPOSE")
    assert ports.split() == [str(settings.amqp.port), str(settings.management.port)]
    [entrypoint], [command] = of("service", "ENTRYPOINT"), of("service", "CMD")
    assert json.loads(entrypoint) == ["bridge"]
    *run, file = json.loads(command)
    assert run == ["run", "--config"]
    assert f"COPY bridge.properties {file}\n" in read("Dockerfile")


def test_the_service_listens_outside_of_its_container() -> None:
    variables = {name: value for name, value in environment().items() if name.startswith("BRIDGE_")}
    settings = load(ROOT / "bridge.properties", variables)
    assert settings.amqp.host == settings.management.host == "0.0.0.0"  # noqa: S104


def test_the_root_may_be_read_only() -> None:
    assert environment()["PYTHONDONTWRITEBYTECODE"] == "1"
    assert not of("service", "VOLUME")


def test_the_version_is_that_of_the_package() -> None:
    assert f"VERSION={__version__}" in of("service", "ARG")


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check_asks_the_management_port(status: int, code: int) -> None:
    paths = []

    class Management(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    [check] = of("service", "HEALTHCHECK")
    _python, *arguments = json.loads(check.partition("CMD ")[2])
    with HTTPServer(("127.0.0.1", 0), Management) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = {"BRIDGE_MANAGEMENT_PORT": str(server.server_port)}
        done = subprocess.run([sys.executable, *arguments], check=False, env=port)  # noqa: S603
        thread.join()
    assert (done.returncode, paths) == (code, ["/healthz"])


_IMPORT_WITHOUT = """
import sys
from importlib.metadata import packages_distributions

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"{name} is not in the image", name=name)

allowed = set(sys.argv[1:])
form = lambda name: name.replace("_", "-").replace(".", "-").lower()
missing = {
    module
    for module, distributions in packages_distributions().items()
    if module != "bridge" and not allowed & set(map(form, distributions))
}
assert {"pyspark", "pytest"} <= missing, "the test would show nothing"
sys.meta_path.insert(0, Missing())

import bridge.config.command, bridge.run_command, bridge.service
from bridge.cli import main
main(["--help"])
"""


def test_the_service_needs_only_what_the_image_has() -> None:
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", _IMPORT_WITHOUT, *pinned(SERVICE)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout
