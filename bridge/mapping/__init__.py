"""Translates AMQP messages to Kafka records and back; decides nothing else and does no I/O."""
