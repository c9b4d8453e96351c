import fc from 'fast-check';
import {
  type ClassificationReasonsRecord,
  type CommandOutcome,
  DEAD_LETTER_HEADERS,
  isJsonType,
  MACHINE_STATES,
  type MachineRegistryRecord,
  type MachineStateRecord,
  MAX_LIST_LENGTH,
  mediaType,
  type ObservationLost,
  type ObservationRestored,
  openEnvelope,
  ORDER_STATUSES,
  OUTCOME_TYPES,
  type Parsed,
  parseDowntimeReason,
  parseOrderMessage,
  parseWorkOrderLists,
  readJson,
  REJECTION_CODES,
  STATE_EVENT_TYPES,
  type StateChanged,
  type StateCorrected,
  TOPIC_DEFINITIONS,
  type TopicDefinition,
  TOPICS,
} from '#libs/contracts';
import { readOrderDocument } from '#libs/erp-formats';
import { compileSchema, type FaultsOf } from '../support/events/compile-schema.js';
import {
  DOCUMENTED_SCHEMAS,
  DOCUMENTED_TOPICS,
  type DocumentedMessage,
  type DocumentedTopic,
  nameIn,
} from '../support/events/event-documents.js';
import { POISONED_TOPICS } from '../support/poison/poison-message.js';
import { POISON_CORPUS } from '../support/poison-corpus.js';
import { exampleRecord, examplesOf } from '../support/events/example-record.js';
import { expectValidEvent } from '../support/events/expect-valid-event.js';

const NOW = 1_763_712_000;
const MACHINE = { machineId: 'M-1', factoryId: 'F-1' };

const changed: StateChanged = {
  ...MACHINE,
  state: 'IDLE',
  previousState: 'OPERATING',
  startTime: NOW,
  previousStartTime: NOW - 600,
  detectedAt: NOW + 90,
  revision: 0,
  startTimeSource: 'duration',
};
const corrected: StateCorrected = { ...changed, revision: 1, corrects: 'a'.repeat(64) };
const lost: ObservationLost = {
  ...MACHINE,
  reason: 'removed',
  since: NOW,
  detectedAt: NOW + 300,
  lastState: null,
};
const restored: ObservationRestored = {
  ...MACHINE,
  lostSince: NOW,
  restoredAt: NOW + 600,
  detectedAt: NOW + 660,
};
const latest: MachineStateRecord = {
  ...MACHINE,
  displayName: 'Lathe 1',
  state: 'OFF',
  startTime: NOW,
  observation: 'forbidden',
  lastUpdateTime: NOW,
  sequence: 0,
  settledUntil: null,
};
const registered: MachineRegistryRecord = { ...MACHINE, displayName: 'Lathe 1', factoryName: '' };
const reasons: ClassificationReasonsRecord = {
  machineId: 'M-1',
  reasons: [{ name: 'Cleaning', code: '12' }],
  updatedAt: NOW,
};
const source = { topic: 'p.erp.work-orders.v1', partition: 0, offset: 0, messageId: null };
const open = { machineId: 'M-1', source, code: null, detail: 'why', attempts: 0, appliedAt: null };
const applied: CommandOutcome = { ...open, detail: null, attempts: 1, appliedAt: NOW };
const superseded: CommandOutcome = open;
const rejected: CommandOutcome = { ...open, machineId: null, code: 'too-large' };
const deferred: CommandOutcome = open;

/** One example of each published value, in the bridge's own types. */
const PUBLISHED: [string, object][] = Object.entries({
  'machine-state-changed': changed,
  'machine-state-corrected': corrected,
  'machine-observation-lost': lost,
  'machine-observation-restored': restored,
  'machine-state': latest,
  'machine-registry-entry': registered,
  'classification-reasons': reasons,
  'outcome-applied': applied,
  'outcome-superseded': superseded,
  'outcome-rejected': rejected,
  'outcome-deferred': deferred,
});

const faultsOf = (schema: string, value: object): string[] =>
  compileSchema({ $ref: `schemas/${schema}.json` })(value);

describe.each(PUBLISHED)('the schema %s', (schema, value) => {
  it('accepts the values of the bridge, and unknown fields', () => {
    expect(faultsOf(schema, value)).toEqual([]);
    expect(faultsOf(schema, { ...value, later: { any: ['thing'] } })).toEqual([]);
  });

  it.each(Object.keys(value))('requires %s', (field) => {
    const rest = Object.fromEntries(Object.entries(value).filter(([name]) => name !== field));
    expect(faultsOf(schema, rest)).toContain(`it must have required property '${field}'`);
  });

  it.each(Object.keys(value))('refuses %s of another type', (field) => {
    expect(faultsOf(schema, { ...value, [field]: true })).not.toEqual([]);
    expect(faultsOf(schema, { ...value, [field]: { any: 'thing' } })).not.toEqual([]);
  });
});

describe('the schemas of outcomes', () => {
  it.each([
    ['outcome-applied', applied],
    ['outcome-superseded', superseded],
    ['outcome-rejected', rejected],
  ])('accept one of an order without a machine: %s', (schema, value) => {
    expect(faultsOf(schema, { ...value, machineId: null })).toEqual([]);
  });

  it.each([
    ['outcome-applied', { attempts: -1 }],
    ['outcome-applied', { appliedAt: null }],
    ['outcome-superseded', { appliedAt: NOW }],
    ['outcome-rejected', { code: null }],
    ['outcome-rejected', { detail: null }],
    ['outcome-deferred', { code: 'too-large' }],
  ])('distinguish one from another: no %s with %j', (schema, change) => {
    const value = PUBLISHED.find(([name]) => name === schema)?.[1];
    expect(faultsOf(schema, { ...value, ...change })).not.toEqual([]);
  });
});

describe('the schema of a deferred message', () => {
  it('has no machine while it waits for its order, which it names', () => {
    const waiting = { ...deferred, machineId: null };
    expect(faultsOf('outcome-deferred', { ...waiting, orderId: '4711' })).toEqual([]);
    expect(faultsOf('outcome-deferred', { ...waiting, orderId: undefined })).not.toEqual([]);
  });
});

describe('the schemas of states', () => {
  it('know a correction from a first publication', () => {
    expect(faultsOf('machine-state-corrected', { ...corrected, revision: 0 })).not.toEqual([]);
    expect(faultsOf('machine-state-corrected', { ...corrected, corrects: 'it' })).not.toEqual([]);
  });

  it('contain no record of a removed machine', () => {
    expect(faultsOf('machine-state', { ...latest, observation: 'removed' })).not.toEqual([]);
  });
});

function schemaOf(topic: string): FaultsOf {
  const { payload } = messageOf(topic);
  if (payload === undefined) throw new Error(`${topic} has no schema`);
  return compileSchema(payload);
}

const bodyOf = (message: unknown): Buffer => Buffer.from(JSON.stringify(message));

/** A valid field or any value: most messages made of it are nearly valid. */
const nearly = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 40, arbitrary: value },
    { weight: 2, arbitrary: fc.constantFrom(null, '', ' ', '\u0000', 'M'.repeat(257)) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
  );

const identifier = nearly(fc.stringMatching(/^[A-Z0-9-]{1,12}$/));
const time = nearly(
  fc.oneof(
    { weight: 10, arbitrary: fc.nat() },
    fc.integer({ min: -10, max: 10 }),
    fc.constantFrom(99_999_999_999, 100_000_000_000),
    fc.constantFrom(1763680000000, 1763680000.5, '1763680000', '1763680000000', '0001', '1e9'),
    fc.constantFrom(
      '2025-11-20T23:06:40Z',
      '2025-11-21t00:06:40.123456789+01:00',
      '2025-11-20 23:06:40-00:30',
      '2025-11-20T23:06:40',
      '2025-11-20T23:06:40.Z',
      '2025-11-20T23:06:40+0100',
      '2025-02-30T00:00:00Z',
      '2025-11-20T24:00:00Z',
      '2025-12-31T23:59:60Z',
      '1969-12-31T23:59:59Z',
    ),
  ),
);
const optional = { requiredKeys: [] };

const list = fc.record(
  {
    machineId: identifier,
    workingOrders: nearly(fc.array(identifier, { maxLength: 3 })),
    issuedAt: time,
    machines: fc.constantFrom(null, '', [], {}),
  },
  { requiredKeys: ['machineId', 'workingOrders'] },
);
const lists = fc.record(
  {
    // a second entry of a machine would excuse the first one, which a schema cannot express
    machines: fc.array(list, { maxLength: 3 }).map((entries) =>
      entries.map((entry, index) => {
        const { machineId } = entry;
        return {
          ...entry,
          machineId: typeof machineId === 'string' ? `${machineId}${index}` : machineId,
        };
      }),
    ),
    issuedAt: time,
    machineId: fc.constantFrom(null, '', 'M-1'),
    workingOrders: fc.constantFrom(null, '', []),
  },
  { requiredKeys: ['machines'] },
);
const status = nearly(fc.constantFrom('planned', 'released', 'started', 'held', 'REL'));
const operation = fc.record(
  {
    machineId: identifier,
    workCentre: identifier,
    plant: identifier,
    status,
    sequence: nearly(fc.oneof(fc.nat(), fc.constantFrom(-1, 0.5, '10', 2 ** 53 - 1, 2 ** 53))),
    plannedStart: time,
  },
  optional,
);
const order = fc.record(
  {
    orderId: identifier,
    changedAt: time,
    status,
    operations: nearly(
      fc.array(operation, { maxLength: 3 }).map((operations) =>
        // a repeated operationId is refused, which a schema cannot express
        operations.map((each, index) => ({ ...each, operationId: `00${index}0` })),
      ),
    ),
  },
  { requiredKeys: ['orderId', 'changedAt', 'status', 'operations'] },
);
const reason = fc
  .record(
    { machineId: identifier, reasonId: identifier, startTime: time, endTime: time },
    { requiredKeys: ['machineId', 'startTime'] },
  )
  .chain((message) =>
    // two different reasons are refused, which a schema cannot express
    fc.constantFrom('reason', 'reasonId', 'both').map((spelling) => spell(message, spelling)),
  );

function spell({ reasonId, ...rest }: { reasonId?: unknown }, spelling: string): object {
  if (reasonId === undefined) return rest;
  if (spelling === 'both') return { ...rest, reasonId, reason: reasonId };
  return { ...rest, [spelling]: reasonId };
}

function isTaken(parsed: Parsed<unknown>): boolean {
  if (parsed.ok) return true;
  // a schema cannot express the order of two times
  return parsed.rejection.code === 'start-after-end';
}

describe('the schemas of inputs', () => {
  const taken = {
    lists: (message: unknown) => {
      const parsed = parseWorkOrderLists(bodyOf(message));
      return parsed.ok && parsed.value.faults.length === 0;
    },
    orders: (message: unknown) =>
      isTaken(parseOrderMessage(JSON.parse(bodyOf(message).toString()))),
    reasons: (message: unknown) => isTaken(parseDowntimeReason(bodyOf(message))),
  };

  it.each([
    ['lists', list],
    ['lists', lists],
    ['orders', order],
    ['reasons', reason],
  ] as const)('accept what the bridge accepts, and nothing else: %s', (topic, messages) => {
    const faultsOf = schemaOf(POISONED_TOPICS[topic]);
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(messages, (message) => {
        const isValid = faultsOf(JSON.parse(bodyOf(message).toString())).length === 0;
        expect(isValid).toBe(taken[topic](message));
        seen[isValid ? 'taken' : 'refused'] += 1;
      }),
      { numRuns: 1000 },
    );
    expect(seen.taken).toBeGreaterThan(20);
    expect(seen.refused).toBeGreaterThan(20);
  });

  /** Faults in the relation of fields or against the clock, and text that UTF-8 cannot encode. */
  const beyondSchemas = [
    'lists: half a surrogate pair',
    'reasons: an end before the start',
    'reasons: a start in the year 3000',
    'reasons: two different reasons',
    'orders: one operation twice',
  ];
  const hostile = POISON_CORPUS.filter(({ name }) => !beyondSchemas.includes(name)).flatMap(
    ({ name, topic, value, headers }) => {
      const type = mediaType(headers?.['content-type'] ?? 'application/json');
      const json = value === null || !isJsonType(type) ? undefined : readJson(value);
      // a value that is not JSON never reaches a schema
      return json?.ok === true ? [[name, topic, json.value] as const] : [];
    },
  );
  it.each(hostile)('refuse what the bridge refuses: %s', (_, topic, message) => {
    expect(schemaOf(POISONED_TOPICS[topic])(message)).not.toEqual([]);
  });
});

/** The parsers that the bridge applies to the bodies of incoming messages. */
const PARSERS: Record<string, (body: Buffer) => Parsed<unknown>> = {
  [TOPICS.workOrderLists]: parseWorkOrderLists,
  [TOPICS.workOrders]: (body) =>
    readOrderDocument({ contentType: null, body }, { timeZone: 'UTC' }),
  [TOPICS.downtimeReasons]: parseDowntimeReason,
};

/** The input examples of the contract, verbatim. */
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
  const faultsOf = schemaOf(topic);
  expect(faultsOf(JSON.parse(value.toString()))).toEqual([]);
  const envelope = openEnvelope({ value, headers: [] });
  const parsed = envelope.ok ? PARSERS[topic]?.(envelope.value.body) : envelope;
  expect(parsed).toMatchObject({ ok: true });
  // the faulty entries of lists
  if (topic === TOPICS.workOrderLists) expect(parsed).toMatchObject({ value: { faults: [] } });
}

describe('the examples of outputs', () => {
  const examples = outputs.flatMap(({ name: topic, messages }) =>
    messages.flatMap((message) =>
      examplesOf(message).map(([name, example]) => ({ name, topic, example })),
    ),
  );
  const events = examples.filter(({ topic }) => !topic.endsWith('.dlq'));
  it.each(events)('conform to the events of the bridge: $name', ({ topic, example }) => {
    expectValidEvent(exampleRecord(topic, example));
  });

  // one message covers all three topics, and each example belongs to one of them
  const deadLetters = examples.filter(
    ({ topic, example }) => topic === `${example.headers?.['dlq-source-topic'] ?? ''}.dlq`,
  );
  it.each(deadLetters)('conform to the dead letters of the bridge: $name', ({ topic, example }) => {
    expectValidEvent(exampleRecord(topic, example));
  });

  it('exist for every message that has a value', () => {
    const without = outputs.flatMap(({ messages }) =>
      messages.filter((message) => examplesOf(message).length === 0).map(({ name }) => name),
    );
    expect(new Set(without)).toEqual(new Set(['machine-gone']));
  });
});

describe('the examples of inputs', () => {
  const examples = inputs.flatMap(({ name: topic }) =>
    examplesOf(messageOf(topic)).map(([name, { headers, payload }]) => ({
      name,
      topic,
      headers,
      value: Buffer.from(JSON.stringify(payload)),
    })),
  );
  it.each(examples)('are accepted by the bridge: $name', ({ topic, value }) => {
    expectReadable(topic, value);
  });

  it.each(OF_THE_CONTRACT)('agree with the contract: %s, %.40s', (topic, text) => {
    expectReadable(topic, Buffer.from(text));
  });

  it.each(examples)('may arrive as CloudEvents in structured mode: $name', ({ topic, value }) => {
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

const KEY_BINDINGS: Record<TopicDefinition['key'], string> = {
  machineId: 'machineId',
  orderId: 'orderId',
  'machineId-or-input-key': 'machineIdOrInput',
  'input-key': 'input',
};

function documented(topic: string): DocumentedTopic | undefined {
  return DOCUMENTED_TOPICS.find(({ name }) => name === topic);
}

/** The part of a schema at these keys. */
function part(schema: string, ...keys: string[]): unknown {
  const whole: unknown = DOCUMENTED_SCHEMAS.get(`schemas/${schema}.json`);
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], whole);
}

describe('the document of topics', () => {
  it('has the topics of the contract and no other', () => {
    const names = (topics: readonly { name: string }[]) => topics.map(({ name }) => name).sort();
    expect(names(DOCUMENTED_TOPICS)).toEqual(names(TOPIC_DEFINITIONS));
  });

  it.each(TOPIC_DEFINITIONS.map((definition) => [definition.name, definition] as const))(
    'states the direction, cleanup policy and key of %s',
    (name, { direction, cleanupPolicy, key }) => {
      const bindings = name.endsWith('.dlq')
        ? 'deadLetters'
        : { delete: 'deleted', compact: 'compacted' }[cleanupPolicy];
      expect(documented(name)).toMatchObject({ direction, bindings });
      const keys = documented(name)?.messages.map((message) => nameIn(message.bindings));
      // any message of an input may arrive wrapped, whatever its key
      const ownKeys = keys?.filter((each) => direction === 'out' || each !== 'input');
      expect(new Set(ownKeys)).toEqual(new Set([KEY_BINDINGS[key]]));
    },
  );

  it.each([
    [TOPICS.stateChanges, Object.values<string>(STATE_EVENT_TYPES)],
    [TOPICS.commandOutcomes, Object.values<string>(OUTCOME_TYPES)],
  ])('names every type of event on %s', (topic, types) => {
    const messages = documented(topic)?.messages ?? [];
    expect(messages.map(({ name }) => name).sort()).toEqual(types.sort());
    for (const { name, headers } of messages) {
      expect(headers).toMatchObject({ properties: { ce_type: { const: name } } });
    }
  });

  it('lists the same states, statuses, codes and headers as the bridge', () => {
    expect(part('definitions', 'definitions', 'machineState')).toEqual({ enum: MACHINE_STATES });
    expect(part('definitions', 'definitions', 'machineStateOrNull')).toEqual({
      enum: [...MACHINE_STATES, null],
    });
    expect(part('definitions', 'definitions', 'rejectionCode', 'enum')).toEqual(REJECTION_CODES);
    expect(part('work-order-message', 'definitions', 'status', 'enum')).toEqual(ORDER_STATUSES);
    const headers = part('dead-letter-headers', 'properties') as object;
    expect(Object.keys(headers).sort()).toEqual(Object.values(DEAD_LETTER_HEADERS).sort());
  });

  it('allows lists of the length that the bridge accepts', () => {
    expect(part('work-order-list', 'properties', 'workingOrders', 'maxItems')).toBe(
      MAX_LIST_LENGTH,
    );
    expect(part('work-order-message', 'properties', 'operations', 'anyOf', '0', 'maxItems')).toBe(
      MAX_LIST_LENGTH,
    );
  });
});
