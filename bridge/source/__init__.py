"""The source endpoint (AMQP sender to Kafka): decisions only, no I/O."""
