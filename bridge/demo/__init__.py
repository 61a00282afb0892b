"""The demo: AMQP, Kafka and Spark working together, seen from outside."""
