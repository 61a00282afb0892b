"""What the figures were measured on: cores, memory, kernel, and the versions of what matters."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Final

import confluent_kafka
import psutil

from bridge import __version__
from bridge.devkafka.jars import KAFKA_VERSION
from bridge.service import COMPILED

PACKAGES: Final = ("python-qpid-proton", "confluent-kafka", "uvloop")
_CPU_INFO: Final = Path("/proc/cpuinfo")


def facts(*, given_kafka: bool) -> dict[str, str]:
    """Name the facts, as they are shown and kept with the results."""
    memory_gib = psutil.virtual_memory().total / 2**30
    return {
        "bridge": f"{__version__}, {'compiled in part' if COMPILED else 'pure Python'}",
        "cores": f"{len(os.sched_getaffinity(0))} ({_processor()}), shared by all: Kafka, load and subject",
        "memory": f"{memory_gib:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: version(name) for name in PACKAGES},
        "librdkafka": confluent_kafka.libversion()[0],
        "Kafka": "a given cluster" if given_kafka else f"{KAFKA_VERSION}, one broker",
    }


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
