"""The sink endpoint (Kafka to AMQP receiver): decisions only, no I/O."""
