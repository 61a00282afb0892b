"""What operators see: log events and health."""
