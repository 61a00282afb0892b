"""What a service answers to Prometheus, as values by name and labels."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, TypeAlias

from prometheus_client.parser import text_string_to_metric_families
from support.service import LIMIT_SECONDS

if TYPE_CHECKING:
    from support.service import Service

Values: TypeAlias = dict[tuple[str, ...], float]
"""A sample's name, followed by the values of its labels in the order of their names."""


def scrape(service: Service) -> Values:
    """Read all metrics of a service."""
    connection = http.client.HTTPConnection("127.0.0.1", service.management_port, timeout=LIMIT_SECONDS)
    try:
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert response.status == 200
        text = response.read().decode()
    finally:
        connection.close()
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
