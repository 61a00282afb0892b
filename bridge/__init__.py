"""An AMQP 1.0 endpoint for Apache Kafka: AMQP clients see a broker, Kafka is the storage."""

__version__ = "0.1.0"
