"""How the state machines of the property tests are run, and how they end."""

from __future__ import annotations

import sys

from hypothesis import Phase, settings


def machine_settings(examples: int, steps: int) -> settings:
    """Give the settings of one machine: how many runs, of how many steps at most.

    A run that fails is made small, but not explained: that takes longer than a test may.
    """
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
        report_multiple_bugs=False,
    )


def has_failed() -> bool:
    """Tell, in `teardown`, whether the run has failed already: what is found then says nothing."""
    return sys.exc_info()[0] is not None
