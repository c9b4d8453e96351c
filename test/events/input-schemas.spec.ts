import fc from 'fast-check';
import {
  isJsonType,
  mediaType,
  parseDowntimeReason,
  parseOrderMessage,
  type Parsed,
  parseWorkOrderLists,
  readJson,
} from '#libs/contracts';
import { compileSchema, type FaultsOf } from '../support/events/compile-schema.js';
import { DOCUMENTED_TOPICS } from '../support/events/event-documents.js';
import { POISONED_TOPICS } from '../support/poison/poison-message.js';
import { POISON_CORPUS } from '../support/poison-corpus.js';

const schemas = new Map<string, FaultsOf>();

function schemaOf(topic: string): FaultsOf {
  const known = schemas.get(topic);
  if (known !== undefined) return known;
  const [message] = DOCUMENTED_TOPICS.find(({ name }) => name === topic)?.messages ?? [];
  if (message?.payload === undefined) throw new Error(`${topic} has no schema`);
  const schema = compileSchema(message.payload);
  schemas.set(topic, schema);
  return schema;
}

const bodyOf = (message: unknown): Buffer => Buffer.from(JSON.stringify(message));

/** A field as it should be, or like anything at all: most messages made of it are nearly right. */
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
    // a machine named twice would excuse its first entry, which the schema cannot know
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
        // an operationId given twice is refused, which the schema cannot know
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
    // two reasons that differ are refused, which the schema cannot know
    fc.constantFrom('reason', 'reasonId', 'both').map((spelling) => spell(message, spelling)),
  );

function spell({ reasonId, ...rest }: { reasonId?: unknown }, spelling: string): object {
  if (reasonId === undefined) return rest;
  if (spelling === 'both') return { ...rest, reasonId, reason: reasonId };
  return { ...rest, [spelling]: reasonId };
}

function isTaken(parsed: Parsed<unknown>): boolean {
  if (parsed.ok) return true;
  // how two times stand to each other is beyond a schema
  return parsed.rejection.code === 'start-after-end';
}

describe('the schemas of what is read', () => {
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
  ] as const)('take what the bridge takes, and nothing else: %s', (topic, messages) => {
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

  /** What only the relation of fields, or the clock, makes wrong; and text that UTF-8 cannot hold. */
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
      // what is no JSON never gets as far as a schema
      return json?.ok === true ? [[name, topic, json.value] as const] : [];
    },
  );
  it.each(hostile)('refuse what the bridge refuses: %s', (_, topic, message) => {
    expect(schemaOf(POISONED_TOPICS[topic])(message)).not.toEqual([]);
  });
});
