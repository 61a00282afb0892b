from __future__ import annotations

from pathlib import Path

from bridge.config.problems import ConfigError, Entry, FileLine, Problem, Variable

FILE = Path("bridge.properties")


def test_a_problem_says_where_what_and_what_was_perhaps_meant() -> None:
    problem = Problem("no such option", "amqp.prot", FileLine(FILE, 4), "amqp.port")
    assert str(problem) == ("bridge.properties line 4: amqp.prot: no such option; did you mean amqp.port?")


def test_a_problem_stays_on_one_line() -> None:
    problem = Problem("no such variable", place=Variable("BRIDGE_\r\n"))
    assert str(problem) == "environment variable BRIDGE_\\r\\n: no such variable"


def test_a_problem_about_several_keys_does_not_repeat_one() -> None:
    problem = Problem("amqp.port and management.port are both 1", "amqp.port", Variable("X"))
    assert str(problem) == "environment variable X: amqp.port and management.port are both 1"


def test_an_error_tells_all_problems_in_reading_order() -> None:
    error = ConfigError(
        [
            Problem("c", place=Variable("BRIDGE_X")),
            Problem("b", "key", FileLine(FILE, 10)),
            Problem("a", "key", FileLine(FILE, 9)),
            Problem("cannot read it"),
        ]
    )
    assert str(error) == (
        "the configuration has 4 problems:\n"
        "  cannot read it\n"
        "  bridge.properties line 9: key: a\n"
        "  bridge.properties line 10: key: b\n"
        "  environment variable BRIDGE_X: c"
    )
    assert str(ConfigError([Problem("x")])) == "the configuration has a problem:\n  x"


def test_an_entry_does_not_show_its_value() -> None:
    entry = Entry("kafka.sasl.password", "hunter2", FileLine(FILE, 1), "kafka.sasl.password")
    assert "hunter2" not in repr(entry)
    assert "bridge.properties line 1" in repr(entry)
