"""The credit window's arithmetic, under any order of arrivals, outcomes and settlements."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.machines import has_failed, machine_settings

from bridge.source.credit import CreditWindow


class CreditWindowMachine(RuleBasedStateMachine):
    """A peer that spends what it is granted, a Kafka that answers, a sender that settles when it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.window = CreditWindow(1)
        self.credit = 0
        self.in_flight = 0
        self.in_doubt = 0

    @initialize(size=st.integers(1, 12))
    def attach(self, size: int) -> None:
        self.window = CreditWindow(size)
        self.grant()

    @precondition(lambda self: self.credit > 0)
    @rule(data=st.data())
    def arrive(self, data: st.DataObject) -> None:
        for _ in range(data.draw(st.integers(1, self.credit))):
            self.window.arrived()
            self.credit -= 1
            self.in_flight += 1

    @precondition(lambda self: self.in_flight > 0)
    @rule(data=st.data(), in_doubt=st.booleans())
    def answer(self, data: st.DataObject, in_doubt: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        count = data.draw(st.integers(1, self.in_flight))
        self.window.answered(count, in_doubt=in_doubt)
        self.in_flight -= count
        self.in_doubt += count * in_doubt

    @precondition(lambda self: self.in_doubt > 0)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, self.in_doubt))
        self.window.settled(count)
        self.in_doubt -= count

    @rule()
    def grant(self) -> None:
        size = self.window.window
        given = self.window.grant()
        assert given >= 0
        assert given == 0 or self.credit == 0 or given * 2 >= size, "small amounts are batched"
        self.credit += given
        if self.in_doubt <= size:
            assert self.credit > 0 or self.in_flight == size, (
                "a peer without credit gets what there is at once"
            )
            assert (size - self.credit - self.in_flight) * 2 < size, "half a window is not held back"

    @invariant()
    def the_window_counts_what_happened(self) -> None:
        window = self.window
        assert (window.granted, window.in_flight, window.in_doubt) == (
            self.credit,
            self.in_flight,
            self.in_doubt,
        )

    @invariant()
    def granted_and_in_flight_stay_within_the_window(self) -> None:
        assert self.credit + self.in_flight <= self.window.window

    @invariant()
    def what_is_remembered_stays_within_two_windows(self) -> None:
        assert self.credit + self.in_flight + self.in_doubt <= 2 * self.window.window

    def teardown(self) -> None:
        if has_failed():
            return
        self.window.answered(self.in_flight)
        self.window.settled(self.in_doubt)
        self.in_flight = self.in_doubt = 0
        self.grant()
        for _ in range(self.credit):
            self.window.arrived()
        self.window.answered(self.credit)
        self.credit = 0
        assert self.window.grant() == self.window.window, "no credit has leaked"


TestCreditWindow = CreditWindowMachine.TestCase
TestCreditWindow.settings = machine_settings(examples=100, steps=40)
