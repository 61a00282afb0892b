"""What the development broker raises. Names the failure; never decides what to do about it."""

from __future__ import annotations


class DevKafkaError(Exception):
    """The broker cannot be had, did not start, or ended by itself.

    The message is meant for the person at the terminal: it names the cause, and what to install,
    delete or change. Where the broker's own words help, the end of its log is appended.
    """
