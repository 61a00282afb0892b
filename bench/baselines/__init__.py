"""What the bridge is compared with, measured in the same run.

`bare_source` and `bare_sink` are the floor of the bridge's design: what proton's C library, librdkafka and
an event loop cost when nothing is done between them. `naive_source` and `naive_sink` are the same bridge
written in the ordinary way, from the documentation of both client libraries. `kafka_alone` is Kafka
without AMQP. All use the options that the bridge gives to librdkafka, so that Kafka's part is the same.
"""
