from __future__ import annotations

from structlog.testing import capture_logs

from bridge.observability.kafka import QUIET_SECONDS, KafkaErrorReporter


def test_an_error_is_written_at_once_and_its_repetitions_are_counted() -> None:
    now = [0.0]
    reporter = KafkaErrorReporter(lambda: now[0])
    with capture_logs() as lines:
        for _ in range(100):
            reporter.report("producer", "_TRANSPORT", "connection refused", False)  # noqa: FBT003 - ErrorSink
        reporter.report("consumer", "_TRANSPORT", "connection refused", False)  # noqa: FBT003 - ErrorSink
        now[0] += QUIET_SECONDS
        reporter.report("producer", "_TRANSPORT", "connection refused", False)  # noqa: FBT003 - ErrorSink
    assert [(line["client"], line["repeated"]) for line in lines] == [
        ("producer", 0),
        ("consumer", 0),
        ("producer", 99),
    ]


def test_a_fatal_error_is_never_held_back() -> None:
    reporter = KafkaErrorReporter(lambda: 0.0)
    with capture_logs() as lines:
        reporter.report("producer", "_FATAL", "done for", True)  # noqa: FBT003 - ErrorSink
        reporter.report("producer", "_FATAL", "done for", True)  # noqa: FBT003 - ErrorSink
    assert [line["log_level"] for line in lines] == ["error", "error"]
