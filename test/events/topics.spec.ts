import {
  DEAD_LETTER_HEADERS,
  MACHINE_STATES,
  MAX_LIST_LENGTH,
  ORDER_STATUSES,
  OUTCOME_TYPES,
  REJECTION_CODES,
  STATE_EVENT_TYPES,
  TOPIC_DEFINITIONS,
  type TopicDefinition,
  TOPICS,
} from '#libs/contracts';
import {
  DOCUMENTED_SCHEMAS,
  DOCUMENTED_TOPICS,
  type DocumentedTopic,
  nameIn,
} from '../support/events/event-documents.js';

const KEY_BINDINGS: Record<TopicDefinition['key'], string> = {
  machineId: 'machineId',
  orderId: 'orderId',
  'machineId-or-input-key': 'machineIdOrInput',
  'input-key': 'input',
};

function documented(topic: string): DocumentedTopic | undefined {
  return DOCUMENTED_TOPICS.find(({ name }) => name === topic);
}

/** A part of a schema, by its keys. */
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
    'says of %s which way it goes, how it is cleaned up and what its key is',
    (name, { direction, cleanupPolicy, key }) => {
      const bindings = name.endsWith('.dlq')
        ? 'deadLetters'
        : { delete: 'deleted', compact: 'compacted' }[cleanupPolicy];
      expect(documented(name)).toMatchObject({ direction, bindings });
      const keys = documented(name)?.messages.map((message) => nameIn(message.bindings));
      // any message of an input may come wrapped, whatever its key
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

  it('allows lists of the length that the bridge reads', () => {
    expect(part('work-order-list', 'properties', 'workingOrders', 'maxItems')).toBe(
      MAX_LIST_LENGTH,
    );
    expect(part('work-order-message', 'properties', 'operations', 'anyOf', '0', 'maxItems')).toBe(
      MAX_LIST_LENGTH,
    );
  });
});
