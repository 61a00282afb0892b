"""Gets the pinned jars of Apache Kafka into a cache folder, once, and checks each by its SHA-256.

What fetches them is Apache Ivy, which every pyspark wheel carries for `spark.jars.packages`:
whoever has the bridge's Spark extra needs no Maven, no Docker and no download script. Ivy's own
default repository is used. Never imports pyspark, never hands out a jar that is not exactly the
pinned one.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import tempfile
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bridge.devkafka import process
from bridge.devkafka.cache import cache_root
from bridge.devkafka.errors import DevKafkaError
from bridge.devkafka.java import find_java

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

KAFKA_VERSION = "4.4.0"

_FETCH_SECONDS = 600.0
_POLL_SECONDS = 0.1
_FETCHED = "[SUCCESSFUL ]"  # Ivy prints it once for each artifact
_IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir={cache}/>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms="false" checksums="sha1"/>
  </resolvers>
</ivysettings>
"""


@dataclass(frozen=True, slots=True)
class Jar:
    """One pinned artifact: its Maven coordinates and the hash of its one true content."""

    organisation: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Name of the jar in the cache folder."""
        return f"{self.artifact}-{self.version}.jar"


def pinned_jars() -> list[Jar]:
    """Return the jars of the broker, as the table `jars.sha256` beside this module pins them."""
    return parse_table(resources.files(__package__).joinpath("jars.sha256").read_text("utf-8"))


def parse_table(text: str) -> list[Jar]:
    """Read lines of `SHA256  ORGANISATION:ARTIFACT:VERSION`; `#` begins a comment line."""
    jars = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            sha256, coordinates = line.split()
            organisation, artifact, version = coordinates.split(":")
            jars.append(Jar(organisation, artifact, version, sha256))
    return jars


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of this Kafka version's jars in the cache; it need not exist.

    `environment` is read instead of `os.environ` when given.
    """
    return cache_root(environment) / f"kafka-{KAFKA_VERSION}"


def ensure_jars(folder: Path | None = None) -> Path:
    """Return the folder that holds the verified jars; fetch them (42 MB) if it does not exist yet.

    `folder` overrides `cache_folder()`. Several processes may do this at once: each fills a
    temporary folder beside it and renames it, so nobody ever sees half a cache.

    Raises DevKafkaError when the jars cannot be fetched or differ from the pinned ones, OSError
    when the cache cannot be written.
    """
    folder = cache_folder() if folder is None else folder
    ensure(folder, pinned_jars(), f"Apache Kafka {KAFKA_VERSION}")
    return folder


def ensure(folder: Path, jars: Sequence[Jar], what: str) -> None:
    """Make sure that `folder` holds exactly `jars`; fetch them if it does not exist yet.

    `what` names them for the person who waits. Otherwise as `ensure_jars`.
    """
    if not folder.exists():
        _fill(folder, jars, what)
    verify(folder, jars)


def verify(folder: Path, jars: Sequence[Jar]) -> None:
    """Raise DevKafkaError unless `folder` holds exactly the pinned jars (a tenth of a second)."""
    expected = {jar.file_name: jar.sha256 for jar in jars}
    present = {path.name: path for path in folder.glob("*.jar")}
    if unknown := sorted(present.keys() - expected.keys()):  # they would get onto the class path
        raise DevKafkaError(f"{folder} holds jars that are not pinned: {', '.join(unknown)}")
    for name, sha256 in expected.items():
        if name not in present:
            raise DevKafkaError(f"{folder} lacks {name}; delete the folder to have it filled again")
        found = hashlib.sha256(present[name].read_bytes()).hexdigest()
        if found != sha256:
            raise DevKafkaError(
                f"{present[name]} has SHA-256 {found}, not the pinned {sha256}; "
                "delete the folder to have it filled again"
            )


def find_ivy() -> Path:
    """Return the Ivy jar inside the installed pyspark, which is not imported for that.

    Raises DevKafkaError when pyspark is not installed or carries none.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise DevKafkaError(
            "The jars are not in the cache yet, and what fetches them is part of pyspark: "
            "`pip install 'amqp-kafka-bridge[spark]'`"
        )
    folder = Path(spec.origin).with_name("jars")
    for ivy in sorted(folder.glob("ivy-*.jar"), reverse=True):
        return ivy
    raise DevKafkaError(f"pyspark carries no Ivy in {folder}; `pip install 'amqp-kafka-bridge[spark]'`")


def ivy_module(jars: Sequence[Jar]) -> str:
    """Return the Ivy file that asks for exactly `jars` and nothing they depend on."""
    dependencies = "".join(
        f"    <dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.artifact)}"
        f' rev={quoteattr(jar.version)} transitive="false" conf="default->*"/>\n'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0">\n'
        '  <info organisation="amqp-kafka-bridge" module="devkafka"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}  </dependencies>\n"
        "</ivy-module>\n"
    )


def _fill(folder: Path, jars: Sequence[Jar], what: str) -> None:
    """Fetch `jars` into a temporary folder, verify them there, and rename it to `folder`."""
    ivy, java = find_ivy(), find_java()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        work = Path(temporary)
        fetched = work / "jars"
        settings, module = work / "ivysettings.xml", work / "ivy.xml"
        settings.write_text(_IVY_SETTINGS.format(cache=quoteattr(str(work / "ivy"))))
        module.write_text(ivy_module(jars))
        command = [str(java), f"-Divy.default.ivy.user.dir={work / 'ivy'}", "-jar", str(ivy)]
        command += ["-settings", str(settings), "-ivy", str(module)]
        command += ["-retrieve", f"{fetched}/[artifact]-[revision].[ext]"]
        _run_ivy(command, work / "ivy.log", total=len(jars), what=what)
        verify(fetched, jars)
        publish(fetched, folder)


def publish(fetched: Path, folder: Path) -> None:
    """Rename `fetched` to `folder`, unless another process was first: its jars are as good.

    Raises OSError when that fails for any other reason.
    """
    try:
        fetched.rename(folder)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise


def _run_ivy(command: list[str], log: Path, *, total: int, what: str) -> None:
    """Run Ivy to its end and show its progress on standard error if that is a terminal.

    Raises DevKafkaError, with the end of what Ivy printed, when it fails or takes too long.
    """
    deadline = time.monotonic() + _FETCH_SECONDS
    reader = process.LogReader(log)
    launcher = process.Launcher()
    try:
        running = launcher.spawn(command, log)
        try:
            _show_progress(running, reader, total=total, deadline=deadline, what=what)
            process.finish(running, deadline=deadline, name=f"Fetching {what}")
        except DevKafkaError as error:
            raise DevKafkaError(f"{error}{_hint(log)}{process.tail(log)}") from None
        finally:
            process.kill(running)  # Ctrl-C: nothing may write to the folder that is about to go
    finally:
        launcher.close()


def _hint(log: Path) -> str:
    """Return what to do about a failure that Ivy's log does not explain well."""
    if "PKIX path building failed" not in log.read_text(errors="replace"):
        return ""
    return (
        ": this Java runtime does not know the authority that signed the repository's certificate. "
        "If your network has one of its own, name the store that holds it: "
        "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=FILE"
    )


def _show_progress(
    running: subprocess.Popen[bytes], reader: process.LogReader, *, total: int, deadline: float, what: str
) -> None:
    """Follow Ivy's output until it ends or the deadline passes."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"Fetching {what}", total=total)
        while running.poll() is None and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            lines = reader.new_lines()
            progress.advance(task, sum(_FETCHED in line for line in lines))
