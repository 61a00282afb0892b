"""The sequence diagrams are what the machines do: each scenario is played, and its arrows compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pytest
from confluent_kafka import KafkaError
from proton import Delivery, Link
from support.arrows import BRIDGE, KAFKA, SENDER, Arrow, DiagramError, read_diagram, write_diagram
from support.routed_stages import AnonymousStage, DeduplicatingStage
from support.share_scenarios import receiver_share
from support.sink_stage import POLICY, SinkStage
from support.source_stage import SourceStage

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.scenarios import Scenario

FOLDER: Final = Path(__file__).parents[2] / "docs" / "sequence-diagrams"
SCENARIOS: Final[dict[str, Scenario]] = {}


LISTED: Final = ("amqp:released:list", "amqp:modified:list")
"""The outcomes that a source lists which understands all of them."""

Stage = TypeVar("Stage", SourceStage, AnonymousStage, DeduplicatingStage)


def source_on(stage_of: type[Stage]) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Register a scenario with a sender on such a stage, under the name of its diagram."""

    def register(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
        def run() -> list[Arrow]:
            stage = stage_of()
            with stage:
                play(stage)
            return stage.trace.arrows

        SCENARIOS[play.__name__.replace("_", "-")] = run
        return play

    return register


source: Final = source_on(SourceStage)


def sink(play: Callable[[SinkStage], None]) -> Callable[[SinkStage], None]:
    """Register a scenario with a receiver, under the name of its diagram."""

    def run() -> list[Arrow]:
        stage = SinkStage()
        with stage.pair:
            play(stage)
        return stage.trace.arrows

    SCENARIOS[play.__name__.replace("_", "-")] = run
    return play


@source
def sender_settled(stage: SourceStage) -> None:
    stage.attach(Link.SND_SETTLED)
    stage.send(1, 2, 3, settled=True)
    stage.detach()


@source
def sender_unsettled(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.send(1, 2, 3, 4)
    stage.acknowledge(1)
    stage.acknowledge(2, 3)
    stage.send(5)
    stage.acknowledge(4, 5)
    stage.detach()


@source
def sender_mixed(stage: SourceStage) -> None:
    stage.attach(Link.SND_MIXED)
    stage.send(1)
    stage.send(2, settled=True)
    stage.send(3)
    stage.acknowledge(1, 2, 3)
    stage.detach()


@source
def sender_second(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED, Link.RCV_SECOND)
    stage.send(1, 2)
    stage.acknowledge(1, 2)
    stage.settle(1, 2)
    stage.detach()


@source
def sender_second_lost(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED, Link.RCV_SECOND)
    stage.send(1, 2, 3)
    stage.acknowledge(1, 2)
    stage.settle(1)
    stage.lose_connection()
    stage.acknowledge(3)


@source
def sender_rejected(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED, Link.RCV_FIRST, *LISTED)
    stage.send(1, 2)
    stage.fail(KafkaError.MSG_SIZE_TOO_LARGE, 1, 2)
    stage.fail(KafkaError.MSG_SIZE_TOO_LARGE, 1)
    stage.acknowledge(2)
    stage.detach()


@source
def sender_rejected_retriable(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.send(1)
    stage.fail(KafkaError._MSG_TIMED_OUT, 1)  # noqa: SLF001 - librdkafka's local codes begin so
    stage.send(1)
    stage.acknowledge(1)
    stage.detach()


@source
def sender_released(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED, Link.RCV_FIRST, *LISTED)
    stage.producer_fails(failed=True)
    stage.send(1)
    stage.producer_fails(failed=False)
    stage.send(1)
    stage.acknowledge(1)
    stage.detach()


@source
def sender_modified(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED, Link.RCV_FIRST, *LISTED)
    stage.send(1, 2)
    stage.fail(KafkaError._MSG_TIMED_OUT, 1)  # noqa: SLF001 - as above
    stage.acknowledge(2)
    stage.send(1)
    stage.acknowledge(1)
    stage.detach()


@source
def sender_dropped(stage: SourceStage) -> None:
    stage.attach(Link.SND_SETTLED)
    stage.send(1, 2, settled=True)
    stage.fail(KafkaError._MSG_TIMED_OUT, 1)  # noqa: SLF001 - as above
    stage.send(3, settled=True)
    stage.detach()


@source
def sender_kafka_away(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED, Link.RCV_FIRST, *LISTED)
    stage.send(1, 2, 3)
    stage.reachable(reachable=False)
    stage.fail(KafkaError._MSG_TIMED_OUT, 1, 2)  # noqa: SLF001 - as above
    stage.send(4)
    stage.reachable(reachable=True)
    stage.acknowledge(3, 4)
    stage.send(1, 2)
    stage.acknowledge(1, 2)
    stage.detach()


@source
def sender_topic_deleted(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.send(1, 2)
    stage.fail(KafkaError.UNKNOWN_TOPIC_OR_PART, 1, 2)
    stage.detach()


@source
def sender_too_large(stage: SourceStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.send_in_parts(1, 60_000, 60_000)
    stage.detach()


@source_on(AnonymousStage)
def sender_anonymous(stage: AnonymousStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.send_to("orders", 1)
    stage.send_to("invoices", 2)
    stage.send_to("orders", 3)
    stage.tell("orders", exists=True)
    stage.tell("invoices", exists=False)
    stage.acknowledge(1, 3)
    stage.detach()


@source_on(DeduplicatingStage)
def sender_duplicate(stage: DeduplicatingStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.read_ledger()
    stage.send(1, 2)
    stage.lose_connection()
    stage.commit()
    stage.attach(Link.SND_UNSETTLED)
    stage.read_ledger()
    stage.send(1, 2, 3)
    stage.commit()
    stage.detach()


@sink
def receiver_settled(stage: SinkStage) -> None:
    stage.attach(Link.SND_SETTLED)
    stage.flow(2)
    stage.hand_over(4)
    stage.flow(1)
    stage.detach()


@sink
def receiver_unsettled(stage: SinkStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(3)
    stage.hand_over(3)
    stage.dispose(0, 1)
    stage.commit_interval()
    stage.dispose(2)
    stage.detach()


@sink
def receiver_out_of_order(stage: SinkStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(3)
    stage.hand_over(3)
    stage.dispose(2)
    stage.commit_interval()
    stage.dispose(0)
    stage.commit_interval()
    stage.dispose(1)
    stage.commit_interval()
    stage.detach()


@sink
def receiver_released(stage: SinkStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(2)
    stage.hand_over(4)
    stage.dispose(0, outcome=Delivery.RELEASED)
    stage.dispose(1)
    stage.commit_interval()
    stage.flow(2)
    stage.back_off()
    stage.dispose(0, outcome=Delivery.RELEASED)
    stage.dispose(2)
    stage.flow(2)
    stage.back_off()
    stage.dispose(0)
    stage.dispose(3)
    stage.commit_interval()
    stage.detach()


@sink
def receiver_skip_ahead(stage: SinkStage) -> None:
    stage.policy = replace(POLICY, redelivery=replace(POLICY.redelivery, ahead_records=3))
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(2)
    stage.hand_over(4)
    stage.dispose(0, outcome=Delivery.RELEASED)
    stage.dispose(1)
    stage.flow(3)
    stage.dispose(2)
    stage.commit_interval()
    stage.back_off()
    stage.dispose(0)
    stage.dispose(3)
    stage.detach()


@sink
def receiver_rejected(stage: SinkStage) -> None:
    stage.dead_letter_topic = True
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(2)
    stage.hand_over(2)
    stage.reject(0, "amqp:decode-error", "no order of ours")
    stage.dispose(1)
    stage.commit_interval()
    stage.dead_letter_stored()
    stage.commit_interval()
    stage.detach()


@sink
def receiver_modified(stage: SinkStage) -> None:
    stage.dead_letter_topic = True
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(1)
    stage.hand_over(1)
    stage.annotate(0, cause="no stock")
    stage.dispose(0, outcome=Delivery.MODIFIED)
    stage.flow(1)
    stage.back_off()
    stage.dispose(0, outcome=Delivery.MODIFIED)
    stage.flow(1)
    stage.back_off()
    stage.dispose(0, outcome=Delivery.MODIFIED)
    stage.dead_letter_stored()
    stage.commit_interval()
    stage.detach()


@sink
def receiver_rebalance(stage: SinkStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(3)
    stage.hand_over(4)
    stage.dispose(0)
    stage.revoke()
    stage.dispose(1)
    stage.revoke_wait_ends()
    stage.dispose(2)
    stage.commit_interval()
    stage.assign(2)
    stage.flow(2)
    stage.hand_over(2)
    stage.dispose(2, 3)
    stage.revoke()
    stage.detach()


@sink
def receiver_drain(stage: SinkStage) -> None:
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(3, drain=True)
    stage.hand_over(2)
    stage.reach_end()
    stage.dispose(0, 1)
    stage.flow(1, drain=True)
    stage.reach_end()
    stage.detach()


@sink
def receiver_browse(stage: SinkStage) -> None:
    stage.policy = replace(POLICY, browses=True, commits=False)
    stage.attach(Link.SND_UNSETTLED)
    stage.flow(2)
    stage.hand_over(3)
    stage.dispose(0, outcome=Delivery.RELEASED)
    stage.dispose(1)
    stage.flow(1)
    stage.commit_interval()
    stage.detach()


@sink
def receiver_second(stage: SinkStage) -> None:
    stage.attach(Link.SND_UNSETTLED, Link.RCV_SECOND)
    stage.flow(2)
    stage.hand_over(2)
    stage.dispose(0, 1, settled=False)
    stage.commit_interval()
    stage.detach()


SCENARIOS["receiver-share"] = receiver_share


# ---------------------------------------------------------------------- the comparison


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_diagram_is_what_the_machines_do(name: str) -> None:
    drawn = read_diagram((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    played = SCENARIOS[name]()
    assert drawn == played, f"{name}.md ought to say:\n{write_diagram(played)}"


def test_each_diagram_is_played_and_each_scenario_is_drawn() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} - {"README"} == SCENARIOS.keys()


def test_the_index_leads_to_each_diagram() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCENARIOS if f"]({name}.md)" not in index] == []


# ---------------------------------------------------------------------- the reading of diagrams


DRAWN: Final = """\
Some words.

```mermaid
sequenceDiagram
    participant S as AMQP sender
    participant B as Bridge
    participant K as Kafka
    S->>B: transfer 1 (unsettled)
    B->>K: produce 1 (acks=all)
```
"""


def test_a_diagram_is_read() -> None:
    arrows = read_diagram(DRAWN)
    assert arrows == [
        Arrow(SENDER, BRIDGE, "transfer 1 (unsettled)"),
        Arrow(BRIDGE, KAFKA, "produce 1 (acks=all)"),
    ]
    assert write_diagram(arrows) in DRAWN


@pytest.mark.parametrize(
    "line",
    [
        "Note over B: the bridge waits",
        "loop for ever",
        "S->>X: to nobody",
        "S-->>B: dashed",
        "S->>B:",
        "%% a comment",
        "",
    ],
)
def test_what_cannot_be_compared_is_not_drawn(line: str) -> None:
    with pytest.raises(DiagramError, match="neither a participant nor an arrow"):
        read_diagram(DRAWN.replace("    S->>B: transfer", f"    {line}\n    S->>B: transfer"))


def test_a_document_has_one_diagram() -> None:
    with pytest.raises(DiagramError, match="not 2"):
        read_diagram(DRAWN + DRAWN)
    with pytest.raises(DiagramError, match="not 0"):
        read_diagram("Some words.")
    with pytest.raises(DiagramError, match="not 'flowchart LR'"):
        read_diagram(DRAWN.replace("sequenceDiagram", "flowchart LR"))
