from __future__ import annotations

import signal

import pytest

from bridge.spark.signals import Signals, StopError


def test_the_first_signal_asks_and_the_second_ends() -> None:
    signals = Signals()
    signals.is_patient = True
    with signals.taken():
        assert not signals.is_stop_requested()
        signal.raise_signal(signal.SIGTERM)
        assert signals.is_stop_requested()
        with pytest.raises(StopError):
            signal.raise_signal(signal.SIGINT)
    assert signals.received == signal.SIGINT


def test_the_first_signal_ends_what_is_not_patient() -> None:
    signals = Signals()
    with signals.taken(), pytest.raises(StopError):
        signal.raise_signal(signal.SIGINT)
    assert signals.received == signal.SIGINT


def test_signals_can_be_ignored_and_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    signals = Signals()
    with signals.taken():
        signals.ignore()
        signal.raise_signal(signal.SIGTERM)
    assert not signals.is_stop_requested()
    assert signal.getsignal(signal.SIGTERM) == before
