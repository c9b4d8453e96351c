"""Print each state change and each outcome once, as a JSON line. Needs the package confluent-kafka."""

import json
import os
import signal
import sys
from collections import OrderedDict

from confluent_kafka import Consumer

PREFIX = os.environ.get("KAFKA_TOPIC_PREFIX", "")
consumer = Consumer(
    {
        "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092"),
        "group.id": f"{PREFIX}example-python",
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
    }
)
# the latest ids, oldest first: a duplicate comes soon after its original
seen = OrderedDict()


def is_new(event_id):
    if event_id in seen:
        return False
    seen[event_id] = True
    if len(seen) > 100_000:
        seen.popitem(last=False)
    return True


is_stopping = False


def stop(*_):
    global is_stopping
    is_stopping = True


# not an exception: raised within poll() it would lose the message that poll() holds, and close() commits past that
for name in (signal.SIGINT, signal.SIGTERM):
    signal.signal(name, stop)
consumer.subscribe([f"{PREFIX}machine.state-changes.v1", f"{PREFIX}machine.command-outcomes.v1"])
try:
    while not is_stopping:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            # for example a topic that it may not read; the consumer goes on trying
            print(message.error(), file=sys.stderr, flush=True)
            continue
        headers = {name: (value or b"").decode() for name, value in message.headers() or []}
        if is_new(headers["ce_id"]):
            data = json.loads(message.value())
            line = {"id": headers["ce_id"], "type": headers["ce_type"], "machineId": data["machineId"]}
            print(json.dumps(line), flush=True)
finally:
    consumer.close()
