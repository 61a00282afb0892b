from __future__ import annotations

from bridge.model.conditions import Condition
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome


def test_delivery_states_have_the_descriptors_of_the_wire() -> None:
    """AMQP 1.0 core, section 3.4."""
    assert {state.name: int(state) for state in DeliveryState} == {
        "NONE": 0,
        "RECEIVED": 0x23,
        "ACCEPTED": 0x24,
        "REJECTED": 0x25,
        "RELEASED": 0x26,
        "MODIFIED": 0x27,
    }


def test_the_outcomes_without_parameters_are_constants() -> None:
    assert Outcome(DeliveryState.ACCEPTED) == ACCEPTED
    assert Outcome(DeliveryState.RELEASED) == RELEASED


def test_modified_tells_of_a_failed_delivery_which_may_go_anywhere() -> None:
    assert MODIFIED_FAILED.state is DeliveryState.MODIFIED
    assert MODIFIED_FAILED.delivery_failed
    assert not MODIFIED_FAILED.undeliverable_here


def test_rejections_differ_by_their_condition() -> None:
    plain = Outcome(DeliveryState.REJECTED)
    told = Outcome(DeliveryState.REJECTED, Condition("amqp:not-found", "no such topic"))

    assert plain.condition is None
    assert plain != told
