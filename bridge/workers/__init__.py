"""A service of several processes on one port: a supervisor, and workers that are each a whole bridge.

The workers share nothing but the port, among whose listeners the system deals out connections: what several
of them have to agree on is in Kafka, as it is for replicas. The supervisor starts them, starts those again
that end, and answers for all of them on the management port; it touches no message and no connection.

Supervisor and worker talk over a pair of sockets, one object of JSON a line (`contract`, `channel`). Nobody
waits for the other there, and a worker whose supervisor is gone ends.
"""
