"""What the Spark side raises for the person who runs it. Names the failure; decides nothing."""

from __future__ import annotations


class SparkSideError(Exception):
    """A session cannot be had, or the ingestion cannot start or go on.

    The message is meant for the person at the terminal: it names the cause, and what to change.
    """
