"""What ends a run of the load generator before its time."""

from __future__ import annotations


class LoadError(Exception):
    """The peer ended what it should not have, or said what cannot be understood; the text says why."""
