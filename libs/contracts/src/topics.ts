import type { Flow } from './flows.js';

/** Topic names without the configured prefix. */
export const TOPICS = {
  workOrderLists: 'erp.work-order-lists.v1',
  workOrders: 'erp.work-orders.v1',
  downtimeReasons: 'mes.downtime-reasons.v1',
  stateChanges: 'machine.state-changes.v1',
  states: 'machine.states.v1',
  registry: 'machine.registry.v1',
  classificationReasons: 'machine.classification-reasons.v1',
  commandOutcomes: 'machine.command-outcomes.v1',
  /** Written and read by terminals only: the bridge neither reads nor creates it. */
  downtimeNotes: 'mes.downtime-notes.v1',
} as const;

export type TopicName = (typeof TOPICS)[keyof typeof TOPICS];

/** Outputs that may be published in the frame of a schema registry. */
export const FRAMED_OUTPUTS = {
  'state-events': TOPICS.stateChanges,
  'latest-states': TOPICS.states,
  outcomes: TOPICS.commandOutcomes,
} as const;

export type FramedOutput = keyof typeof FRAMED_OUTPUTS;

export const INPUT_TOPICS = [
  TOPICS.workOrderLists,
  TOPICS.workOrders,
  TOPICS.downtimeReasons,
] as const;

export type InputTopic = (typeof INPUT_TOPICS)[number];

export interface TopicDefinition {
  /** Without the configured prefix. */
  name: string;
  direction: 'in' | 'out';
  cleanupPolicy: 'delete' | 'compact';
  key: 'machineId' | 'orderId' | 'machineId-or-input-key' | 'input-key';
  purpose: string;
}

const DEAD_LETTER_SUFFIX = '.dlq';

/** Takes a name with or without the configured prefix. */
export function deadLetterTopic(topic: string): string {
  return `${topic}${DEAD_LETTER_SUFFIX}`;
}

/** Queues: topics between two steps of an order, without the prefix. Each has a dead-letter topic. */
export const WORK_ORDER_QUEUES = {
  orderRequests: 'machine-bridge.order-requests.v1',
  relayedOrders: 'machine-bridge.relayed-orders.v1',
  assignmentChanges: 'machine-bridge.assignment-changes.v1',
  orderRefusals: 'machine-bridge.order-refusals.v1',
} as const;

/** The bridge's own topics other than queues, without the prefix. Their records are described beside their codecs. */
export const INTERNAL_TOPICS = {
  machineStates: 'machine-bridge.machine-states.v1',
  workOrderListFences: 'machine-bridge.work-order-list-fences.v1',
  orders: 'machine-bridge.orders.v1',
  assignments: 'machine-bridge.assignments.v1',
  flowControls: 'machine-bridge.flow-controls.v1',
  flowShares: 'machine-bridge.flow-shares.v1',
  /** Written by the command `dlq replay`: the bridge neither reads nor creates it. */
  deadLetterReplays: 'machine-bridge.dead-letter-replays.v1',
  /** Written by `apps/ingest`: the bridge neither reads nor creates them. */
  ingestClaims: 'machine-bridge.ingest-claims.v1',
  ingestReceipts: 'machine-bridge.ingest-receipts.v1',
} as const;

/** Every public topic, dead letters included. */
export const TOPIC_DEFINITIONS: readonly TopicDefinition[] = [
  input(TOPICS.workOrderLists, 'machineId', 'work order lists, for the bridge'),
  input(TOPICS.workOrders, 'orderId', 'work orders and documents of an ERP, for the bridge'),
  input(TOPICS.downtimeReasons, 'machineId', 'downtime reasons, for the bridge'),
  output(TOPICS.stateChanges, 'delete', 'machineId', 'changes of machine states'),
  output(TOPICS.states, 'compact', 'machineId', 'latest state of each machine'),
  output(TOPICS.registry, 'compact', 'machineId', 'machines that the token may see'),
  output(TOPICS.classificationReasons, 'compact', 'machineId', 'downtime reasons of each machine'),
  output(TOPICS.commandOutcomes, 'delete', 'machineId-or-input-key', 'outcomes of input messages'),
  ...INPUT_TOPICS.map((name) =>
    output(deadLetterTopic(name), 'delete', 'input-key', 'dead letters of that input'),
  ),
];

function input(name: string, key: TopicDefinition['key'], purpose: string): TopicDefinition {
  return { name, direction: 'in', cleanupPolicy: 'delete', key, purpose };
}

function output(
  name: string,
  cleanupPolicy: TopicDefinition['cleanupPolicy'],
  key: TopicDefinition['key'],
  purpose: string,
): TopicDefinition {
  return { name, direction: 'out', cleanupPolicy, key, purpose };
}

/** A dead letter or state may be larger than its input, which fits into a broker's default of 1 MB. */
const LARGEST_RECORD_BYTES = 16 * 1024 * 1024;

/**
 * Kafka compacts closed segments only, by default after a week or 1 GiB. Until then each start and each rebalance reads
 * every version of a state: for 330 machines that change every five minutes, 110 MB a day. A short `segment.ms` alone
 * would leave a segment for each record of a topic that is seldom written.
 */
const COMPACTED_WITHIN_MS = 3_600_000;

/** The configuration that the bridge wants a topic to have; names include the prefix. */
export interface BridgeTopic {
  name: string;
  purpose: string;
  direction: 'in' | 'out' | 'internal';
  cleanupPolicy: 'delete' | 'compact' | 'compact,delete';
  /** Whether a flow of these settings depends on the topic. */
  isNeeded: boolean;
  /** Whether bridges commit offsets of the topic; true for every input, also where its flow is switched off. */
  isConsumed: boolean;
  maxMessageBytes?: number;
  /** Milliseconds after which a record that has a successor may no longer be read. */
  maxCompactionLagMs?: number;
  asWideAs?: string[];
  createdAsWideAs?: string[];
}

/** The topics, without the prefix, whose offsets the bridge commits for a flow. */
export const CONSUMED_TOPICS: Record<Flow, readonly string[]> = {
  'work-orders': [TOPICS.workOrderLists, TOPICS.workOrders, ...Object.values(WORK_ORDER_QUEUES)],
  'downtime-reasons': [TOPICS.downtimeReasons],
  'machine-states': [],
};

/** The outputs of each flow. */
const OUTPUTS: Record<Flow, readonly string[]> = {
  'work-orders': [TOPICS.commandOutcomes],
  'downtime-reasons': [TOPICS.commandOutcomes, TOPICS.classificationReasons],
  'machine-states': [
    ...[TOPICS.stateChanges, TOPICS.states],
    ...[TOPICS.registry, TOPICS.classificationReasons],
  ],
};

/** An internal topic, without the prefix. One without a `flow` belongs to all flows. */
interface OwnTopic extends Pick<
  BridgeTopic,
  'name' | 'purpose' | 'cleanupPolicy' | 'maxCompactionLagMs'
> {
  flow?: Flow;
  asWideAs?: readonly string[];
  createdAsWideAs?: readonly string[];
}

type Widths = Pick<OwnTopic, 'asWideAs' | 'createdAsWideAs'>;

function queue(name: string, purpose: string, widths: Widths): OwnTopic[] {
  const [flow, deadLetters] = ['work-orders' as const, 'dead letters of that queue'];
  return [
    { name, purpose, flow, cleanupPolicy: 'compact,delete', ...widths },
    // for records that cannot be handled because of a bug
    { name: deadLetterTopic(name), purpose: deadLetters, flow, cleanupPolicy: 'delete' },
  ];
}

function state(
  name: string,
  purpose: string,
  more: Omit<OwnTopic, 'name' | 'purpose' | 'cleanupPolicy'> = {},
): OwnTopic {
  return {
    name,
    purpose,
    cleanupPolicy: 'compact',
    maxCompactionLagMs: COMPACTED_WITHIN_MS,
    ...more,
  };
}

const { orderRequests, relayedOrders, assignmentChanges, orderRefusals } = WORK_ORDER_QUEUES;

const OWN_TOPICS: readonly OwnTopic[] = [
  ...queue(relayedOrders, 'orders on their way to the ledger', {
    createdAsWideAs: [TOPICS.workOrders],
  }),
  ...queue(orderRequests, 'orders that an ERP is to be asked for', { asWideAs: [relayedOrders] }),
  ...queue(orderRefusals, 'refusals on their way to their document', {
    asWideAs: [TOPICS.workOrders],
  }),
  // one process then owns both the lists and the orders of a machine, where both are keyed by machineId
  ...queue(assignmentChanges, 'changes of assignments on their way to their machine', {
    createdAsWideAs: [TOPICS.workOrderLists],
  }),
  state(INTERNAL_TOPICS.machineStates, 'what is remembered of machines', {
    flow: 'machine-states',
  }),
  state(INTERNAL_TOPICS.workOrderListFences, 'watermarks of lists', {
    flow: 'work-orders',
    asWideAs: [TOPICS.workOrderLists],
  }),
  state(INTERNAL_TOPICS.orders, 'orders of the ledger', {
    flow: 'work-orders',
    asWideAs: [relayedOrders],
  }),
  state(INTERNAL_TOPICS.assignments, 'operations on each machine', {
    flow: 'work-orders',
    asWideAs: [assignmentChanges],
  }),
  state(INTERNAL_TOPICS.flowControls, 'flows that are paused by hand'),
  state(INTERNAL_TOPICS.flowShares, 'what each process has of the flows'),
];

/**
 * The topics that a bridge with these settings uses, and creates at its start: the internal ones, and the public ones
 * that its flows need. Where the bridge may create topics, all public ones, so that subscribers find them.
 */
export function bridgeTopics({
  kafka: { topicPrefix, createTopics },
  flows,
}: {
  kafka: { topicPrefix: string; createTopics: boolean };
  flows: ReadonlySet<Flow>;
}): BridgeTopic[] {
  const consumed = new Set([...flows].flatMap((flow) => CONSUMED_TOPICS[flow]));
  const needed = new Set([
    ...[...consumed].flatMap((name) => [name, deadLetterTopic(name)]),
    ...[...flows].flatMap((flow) => OUTPUTS[flow]),
  ]);
  const full = (name: string): string => `${topicPrefix}${name}`;
  const large = { maxMessageBytes: LARGEST_RECORD_BYTES };
  return [
    ...TOPIC_DEFINITIONS.filter(({ name }) => createTopics || needed.has(name)).map(
      ({ name, purpose, direction, cleanupPolicy }): BridgeTopic => ({
        ...{ name: full(name), purpose, direction, cleanupPolicy },
        ...{ isNeeded: needed.has(name), isConsumed: direction === 'in' },
        ...(name.endsWith(DEAD_LETTER_SUFFIX) && large),
        // read from the beginning by every subscriber
        ...(cleanupPolicy === 'compact' && { maxCompactionLagMs: COMPACTED_WITHIN_MS }),
      }),
    ),
    ...OWN_TOPICS.filter(({ flow }) => flow === undefined || flows.has(flow)).map(
      ({
        name,
        purpose,
        cleanupPolicy,
        maxCompactionLagMs,
        asWideAs,
        createdAsWideAs,
      }): BridgeTopic => ({
        ...{ name: full(name), purpose, direction: 'internal', cleanupPolicy, ...large },
        ...{ isNeeded: true, isConsumed: consumed.has(name) },
        ...(maxCompactionLagMs !== undefined && { maxCompactionLagMs }),
        ...(asWideAs && { asWideAs: asWideAs.map(full) }),
        ...(createdAsWideAs && { createdAsWideAs: createdAsWideAs.map(full) }),
      }),
    ),
  ];
}

/** Those of the topics whose offsets the bridge commits. */
export function consumedTopics(topics: readonly BridgeTopic[]): BridgeTopic[] {
  return topics.filter(({ isConsumed }) => isConsumed);
}
