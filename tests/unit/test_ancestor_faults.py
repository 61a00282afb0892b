"""The four faults of the Java bridge that this one descends from: each as the user met it."""

from __future__ import annotations

from dataclasses import replace

from support.sink_port import REJECTED, MemoryTopic
from support.sink_rig import UNSETTLED, SinkRig
from support.source_port import SourceRig

from bridge.model.links import ReceiverSettleMode, SenderSettleMode
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState
from bridge.source.policy import choose


def values_left(topic: MemoryTopic, partition: int = 0) -> list[int]:
    """Give the offsets that the group's next consumer would read."""
    return [record.offset() for record in topic.uncommitted(partition)]


def test_ancestor_fault_an_unsettled_sender_stops_after_flow_credit_messages() -> None:
    """There, credit was granted once for unsettled senders and never given back."""
    flow_credit = 1024
    policy = choose(
        SenderSettleMode.UNSETTLED,
        ReceiverSettleMode.FIRST,
        prefetch_credit=flow_credit,
        manual_credit=flow_credit,
        mixed_settled="ordered",
    )
    rig = SourceRig(policy)

    for _ in range(4 * flow_credit):
        assert rig.peer.credit > 0, f"the sender stopped after {rig.peer.sent} messages"
        rig.send_all(b"value")
        rig.store()

    assert rig.peer.count(DeliveryState.ACCEPTED) == 4 * flow_credit


def test_ancestor_fault_commits_stall_when_a_partition_goes_idle() -> None:
    """There, the tracker that knew of gaps committed a partition only when its next record came."""
    rig = SinkRig(UNSETTLED, partitions=2)
    rig.topic.append(0)
    last = rig.topic.append(0, gap=7)
    rig.flow(100)
    rig.run()
    rig.accept(*rig.peer.unsettled)

    for _ in range(3):
        rig.topic.append(1)
        rig.run()
        rig.accept(*rig.peer.unsettled)
        rig.commit()
        assert rig.topic.committed[0] == last + 1

    rig.detach()
    assert values_left(rig.topic) == []


def test_ancestor_fault_records_are_lost_that_are_acknowledged_out_of_order() -> None:
    """There, the "simple" tracker committed the highest offset that was acknowledged."""
    rig = SinkRig(UNSETTLED, records=5)
    rig.flow(5)
    rig.run()

    rig.accept(rig.peer.delivered[4])
    rig.accept(rig.peer.delivered[0], rig.peer.delivered[2])
    rig.commit()
    rig.detach()

    assert values_left(rig.topic) == [1, 2, 3, 4]


def test_ancestor_fault_rejected_and_released_records_are_committed_away_as_if_accepted() -> None:
    """There, every disposition counted as accepted."""
    rig = SinkRig(replace(UNSETTLED, rejected="detach"), records=4)
    rig.flow(4)
    rig.run()
    accepted, released, modified, rejected = rig.peer.delivered

    rig.dispose([(accepted, ACCEPTED), (released, RELEASED), (modified, MODIFIED_FAILED)])
    rig.commit()
    assert values_left(rig.topic) == [1, 2, 3]

    rig.flow(2)
    rig.timers.fire_all()
    again = rig.peer.delivered[4:]
    assert [(delivery.offset, delivery.attempts) for delivery in again] == [(1, 0), (2, 1)]

    rig.accept(*again)
    rig.dispose([(rejected, REJECTED)])
    assert rig.peer.condition is not None, "the refusal is not passed over in silence"
    assert values_left(rig.topic) == [3]
