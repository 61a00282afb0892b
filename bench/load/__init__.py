"""The load generator of the benchmarks: AMQP senders, receivers and idle crowds for next to no CPU.

It shares the machine with what it measures, so it does not use an AMQP library: senders fill blocks of
ready-made transfer frames with numpy and hand them to the socket whole, receivers walk over the frames
that came and take runs of equal ones at once. One thread, one selector, any number of connections; one
session for each connection. It knows as much of AMQP as a benchmark needs: SASL ANONYMOUS, credit,
session windows, outcomes, and errors, which end it with the peer's own text.

    python -m bench.load send    --port 5672 --address orders --messages 1000000
    python -m bench.load receive --port 5672 --address orders/group.id/billing --messages 1000000
    python -m bench.load crowd   --port 5672 --address orders --connections 1000 --seconds 30

Each prints one line of JSON at its end. The exit code is 0 only if all went as asked.
"""
