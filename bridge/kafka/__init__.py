"""The Kafka edge: producers, consumers, metadata. The only folder that touches confluent_kafka."""
