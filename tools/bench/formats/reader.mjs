// Reads one document again and again in a separate process, and sends the result back as a message.
import { readOrderDocument } from '../../../dist/libs/erp-formats/src/index.js';

/** After this time the code is compiled. */
const WARM_UP_MS = 3000;

process.on('message', ({ text, sourceTopic, forMs }) => {
  const body = Buffer.from(text);
  const read = () => {
    const document = { contentType: null, body, sourceTopic, recordedAt: 1_710_753_302 };
    return readOrderDocument(document, { timeZone: 'Europe/Berlin' });
  };
  const first = read();
  if (!first.ok) {
    process.send({ problem: first.rejection.detail });
    return;
  }
  readFor(read, WARM_UP_MS);
  process.send({ entries: entriesOf(first.value), ...readFor(read, forMs) });
});
process.on('disconnect', () => process.exit(0));

/** Measures CPU time, so that the load of other programs does not count. */
function readFor(read, ms) {
  const before = process.cpuUsage();
  const untilMs = performance.now() + ms;
  let documents = 0;
  for (; performance.now() < untilMs; documents += 1) read();
  const { user, system } = process.cpuUsage(before);
  return { cpuUs: (user + system) / documents };
}

/** The number of operations, and of orders without operations. */
function entriesOf(messages) {
  return messages.reduce((sum, { order }) => sum + (order.operations?.length || 1), 0);
}
