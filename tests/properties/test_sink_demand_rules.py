"""Demand, between a consumer that hands over what it may and a receiver that takes what it wants."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.machines import has_failed, machine_settings

from bridge.sink.demand import Demand


class DemandMachine(RuleBasedStateMachine):
    """Counts alone: records wait in Kafka, then in the link, then they are sent."""

    def __init__(self) -> None:
        super().__init__()
        self.demand = Demand(1)
        self.told = 0
        self.handed = 0
        self.waiting = 0
        self.credit = 0
        self.credit_max = 0

    @initialize(buffer_records=st.integers(1, 8))
    def attach(self, buffer_records: int) -> None:
        self.demand = Demand(buffer_records)
        self.buffer_records = buffer_records

    @rule(credit=st.integers(0, 20))
    def flow(self, credit: int) -> None:
        self.credit = credit
        self.credit_max = max(self.credit_max, credit)
        self.pump()

    @rule(credit=st.integers(1, 20))
    def drain(self, credit: int) -> None:
        """Send what there is; the rest of the credit goes back."""
        self.credit = credit
        self.credit_max = max(self.credit_max, credit)
        self.send()
        if self.credit:
            self.demand.returned(self.credit)
            self.credit = 0
        self.pump()

    @precondition(lambda self: self.told > self.handed)
    @rule(data=st.data(), beyond=st.booleans())
    def hand_over(self, data: st.DataObject, beyond: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        """Hand over what is allowed; a consumer that is just pausing may have one record more."""
        count = data.draw(st.integers(1, self.told - self.handed)) + beyond
        self.handed += count
        self.waiting += count
        self.pump()

    @precondition(lambda self: self.waiting > 0)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        """Drop records that are not to be sent after all: they make room for others."""
        count = data.draw(st.integers(1, self.waiting))
        self.waiting -= count
        self.demand.sent += count
        self.pump()

    def send(self) -> None:
        count = min(self.credit, self.waiting)
        self.waiting -= count
        self.credit -= count
        self.demand.sent += count

    def pump(self) -> None:
        self.send()
        allowed = self.demand.update(self.credit)
        if allowed is not None:
            assert allowed > self.told, "a total grows"
            self.told = allowed
        if self.credit:
            assert self.waiting == 0
            assert self.told > self.handed, "a receiver that has credit left makes the consumer go on"

    @invariant()
    def no_more_waits_than_was_bounded(self) -> None:
        ahead = min(self.credit_max, self.buffer_records)
        assert max(self.told - self.demand.sent, self.told - self.handed) <= 2 * ahead

    def teardown(self) -> None:
        """Give one credit at a time: as Kafka has records without end, each brings one."""
        if has_failed():
            return
        for _ in range(60):
            sent = self.demand.sent
            self.flow(1)
            while self.told > self.handed and self.credit:
                self.handed += 1
                self.waiting += 1
                self.pump()
            assert self.demand.sent == sent + 1


TestDemand = DemandMachine.TestCase
TestDemand.settings = machine_settings(examples=100, steps=40)
