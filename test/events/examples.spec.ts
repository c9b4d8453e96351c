import {
  openEnvelope,
  parseDowntimeReason,
  parseWorkOrderLists,
  type Parsed,
  TOPICS,
} from '#libs/contracts';
import { readOrderDocument } from '#libs/erp-formats';
import { compileSchema } from '../support/events/compile-schema.js';
import { DOCUMENTED_TOPICS, type DocumentedMessage } from '../support/events/event-documents.js';
import { exampleRecord, examplesOf } from '../support/events/example-record.js';
import { expectValidEvent } from '../support/events/expect-valid-event.js';

/** What the bridge makes of a message's body, as it does with those that come in. */
const PARSERS: Record<string, (body: Buffer) => Parsed<unknown>> = {
  [TOPICS.workOrderLists]: parseWorkOrderLists,
  [TOPICS.workOrders]: (body) =>
    readOrderDocument({ contentType: null, body }, { timeZone: 'UTC' }),
  [TOPICS.downtimeReasons]: parseDowntimeReason,
};

/** The contract's own examples of input, word for word. */
const OF_THE_CONTRACT: [string, string][] = [
  [
    TOPICS.workOrderLists,
    '{"machineId": "M-1", "workingOrders": ["4711", "4712"], "issuedAt": 1763680000}',
  ],
  [TOPICS.workOrderLists, '{"machines": [{"machineId": "M-1", "workingOrders": []}]}'],
  [
    TOPICS.workOrders,
    `{"orderId": "4711", "changedAt": 1763680000, "status": "released", "operations": [
      {"operationId": "0010", "machineId": "M-1", "status": "released", "sequence": 10,
       "plannedStart": 1763683600},
      {"operationId": "0020", "workCentre": "FR01", "plant": "1000", "status": "released",
       "sequence": 10, "plannedStart": 1763683600}]}`,
  ],
  [
    TOPICS.downtimeReasons,
    '{"machineId": "M-1", "reasonId": "22", "startTime": 1763680000, "endTime": 1763680600}',
  ],
];

const outputs = DOCUMENTED_TOPICS.filter(({ direction }) => direction === 'out');
const inputs = DOCUMENTED_TOPICS.filter(({ direction }) => direction === 'in');

function messageOf(topic: string): DocumentedMessage {
  const [message] = inputs.find(({ name }) => name === topic)?.messages ?? [];
  if (message === undefined) throw new Error(`${topic} has no message`);
  return message;
}

function expectReadable(topic: string, value: Buffer): void {
  const faultsOf = compileSchema(messageOf(topic).payload ?? {});
  expect(faultsOf(JSON.parse(value.toString()))).toEqual([]);
  const envelope = openEnvelope({ value, headers: [] });
  const parsed = envelope.ok ? PARSERS[topic]?.(envelope.value.body) : envelope;
  expect(parsed).toMatchObject({ ok: true });
  // of lists, the entries at fault
  if (topic === TOPICS.workOrderLists) expect(parsed).toMatchObject({ value: { faults: [] } });
}

describe('the examples of what is published', () => {
  const examples = outputs.flatMap(({ name: topic, messages }) =>
    messages.flatMap((message) =>
      examplesOf(message).map(([name, example]) => ({ name, topic, example })),
    ),
  );
  const events = examples.filter(({ topic }) => !topic.endsWith('.dlq'));
  it.each(events)('are what the bridge would publish: $name', ({ topic, example }) => {
    expectValidEvent(exampleRecord(topic, example));
  });

  // one message stands for all three topics, and each example is of one of them
  const deadLetters = examples.filter(
    ({ topic, example }) => topic === `${example.headers?.['dlq-source-topic'] ?? ''}.dlq`,
  );
  it.each(deadLetters)('are what the bridge would reject: $name', ({ topic, example }) => {
    expectValidEvent(exampleRecord(topic, example));
  });

  it('are there for everything but what has no value', () => {
    const without = outputs.flatMap(({ messages }) =>
      messages.filter((message) => examplesOf(message).length === 0).map(({ name }) => name),
    );
    expect(new Set(without)).toEqual(new Set(['machine-gone']));
  });
});

describe('the examples of what is read', () => {
  const examples = inputs.flatMap(({ name: topic }) =>
    examplesOf(messageOf(topic)).map(([name, { headers, payload }]) => ({
      name,
      topic,
      headers,
      value: Buffer.from(JSON.stringify(payload)),
    })),
  );
  it.each(examples)('are taken by the bridge: $name', ({ topic, value }) => {
    expectReadable(topic, value);
  });

  it.each(OF_THE_CONTRACT)('agree with the contract: %s, %.40s', (topic, text) => {
    expectReadable(topic, Buffer.from(text));
  });

  it.each(examples)('may come as CloudEvents in structured mode: $name', ({ topic, value }) => {
    const data: unknown = JSON.parse(value.toString());
    const event = { specversion: '1.0', id: 'e-1', source: '/erp', type: topic, data };
    const wrapper = inputs
      .find(({ name }) => name === topic)
      ?.messages.find(({ name }) => name === 'structured-event');
    expect(compileSchema(wrapper?.payload ?? {})(event)).toEqual([]);
    const headers = [['content-type', wrapper?.contentType ?? null] as const];
    const opened = openEnvelope({ value: Buffer.from(JSON.stringify(event)), headers });
    expect(opened).toMatchObject({ ok: true, value: { messageId: 'e-1', body: value } });
  });
});
