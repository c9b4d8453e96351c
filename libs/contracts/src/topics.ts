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
  /** Between terminals alone: the bridge neither reads nor creates it. */
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
  /** What the record key holds. */
  key: 'machineId' | 'orderId' | 'machineId-or-input-key' | 'input-key';
  purpose: string;
}

const DEAD_LETTER_SUFFIX = '.dlq';

/** Works with and without the configured prefix: the suffix is all it adds. */
export function deadLetterTopic(topic: string): string {
  return `${topic}${DEAD_LETTER_SUFFIX}`;
}

/** Topics between the parts of the bridge's order flow, without the prefix. Each has a dead-letter topic. */
export const WORK_ORDER_QUEUES = {
  orderRequests: 'machine-bridge.order-requests.v1',
  relayedOrders: 'machine-bridge.relayed-orders.v1',
  assignmentChanges: 'machine-bridge.assignment-changes.v1',
  orderRefusals: 'machine-bridge.order-refusals.v1',
} as const;

/** The bridge's own topics, without the prefix: their records are described beside their codecs. Queues are apart. */
export const INTERNAL_TOPICS = {
  machineStates: 'machine-bridge.machine-states.v1',
  workOrderListFences: 'machine-bridge.work-order-list-fences.v1',
  orders: 'machine-bridge.orders.v1',
  assignments: 'machine-bridge.assignments.v1',
  flowControls: 'machine-bridge.flow-controls.v1',
  flowShares: 'machine-bridge.flow-shares.v1',
  /** Of the command `dlq replay`: the bridge neither reads nor creates it. */
  deadLetterReplays: 'machine-bridge.dead-letter-replays.v1',
  /** Of `apps/ingest`: the bridge neither reads nor creates them. */
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

/** A dead letter or state may be larger than its input, which fitted into a broker's default of 1 MB. */
const LARGEST_RECORD_BYTES = 16 * 1024 * 1024;

/** Shares are written every few seconds; in a week, the broker's default, they would be 100 MB a process. */
const SHARES_SEGMENT_MS = 600_000;

/** A topic of the bridge as it is meant to be; names are full, prefix included. */
export interface BridgeTopic {
  name: string;
  purpose: string;
  direction: 'in' | 'out' | 'internal';
  cleanupPolicy: 'delete' | 'compact' | 'compact,delete';
  /** Whether a bridge with these settings cannot do without it. */
  isNeeded: boolean;
  maxMessageBytes?: number;
  /** After so long a segment of the log is closed: only closed ones are compacted. */
  segmentMs?: number;
  asWideAs?: string[];
  createdAsWideAs?: string[];
}

/** The public topics that a flow cannot do without. */
const FLOW_TOPICS: Record<Flow, readonly string[]> = {
  'work-orders': [
    ...[TOPICS.workOrderLists, TOPICS.workOrders].flatMap((name) => [name, deadLetterTopic(name)]),
    TOPICS.commandOutcomes,
  ],
  'downtime-reasons': [
    TOPICS.downtimeReasons,
    deadLetterTopic(TOPICS.downtimeReasons),
    TOPICS.commandOutcomes,
    TOPICS.classificationReasons,
  ],
  'machine-states': [
    ...[TOPICS.stateChanges, TOPICS.states],
    ...[TOPICS.registry, TOPICS.classificationReasons],
  ],
};

interface InternalTopic {
  name: string;
  purpose: string;
  flow: Flow;
  asWideAs?: readonly string[];
  createdAsWideAs?: readonly string[];
}

const { orderRequests, relayedOrders, assignmentChanges, orderRefusals } = WORK_ORDER_QUEUES;

const STATES: readonly InternalTopic[] = [
  {
    name: INTERNAL_TOPICS.machineStates,
    purpose: 'what is remembered of machines',
    flow: 'machine-states',
  },
  {
    name: INTERNAL_TOPICS.workOrderListFences,
    purpose: 'watermarks of lists',
    flow: 'work-orders',
    asWideAs: [TOPICS.workOrderLists],
  },
  {
    name: INTERNAL_TOPICS.orders,
    purpose: 'orders of the ledger',
    flow: 'work-orders',
    asWideAs: [relayedOrders],
  },
  {
    name: INTERNAL_TOPICS.assignments,
    purpose: 'operations on each machine',
    flow: 'work-orders',
    asWideAs: [assignmentChanges],
  },
];

/** Of `work-orders`. */
const QUEUES: readonly Omit<InternalTopic, 'flow'>[] = [
  {
    name: relayedOrders,
    purpose: 'orders on their way to the ledger',
    createdAsWideAs: [TOPICS.workOrders],
  },
  {
    name: orderRequests,
    purpose: 'orders that an ERP is to be asked for',
    asWideAs: [relayedOrders],
  },
  {
    name: orderRefusals,
    purpose: 'refusals on their way to their document',
    asWideAs: [TOPICS.workOrders],
  },
  {
    // So that lists and orders of a machine are owned together, where both are keyed by it.
    name: assignmentChanges,
    purpose: 'changes of assignments on their way to their machine',
    createdAsWideAs: [TOPICS.workOrderLists],
  },
];

/**
 * The topics that a bridge with these settings uses, and creates at its start: all public ones where it may create
 * them, so that subscribers find them, else those that its flows need; and its own.
 */
export function bridgeTopics({
  kafka: { topicPrefix, createTopics },
  flows,
}: {
  kafka: { topicPrefix: string; createTopics: boolean };
  flows: ReadonlySet<Flow>;
}): BridgeTopic[] {
  const needed = new Set([...flows].flatMap((flow) => FLOW_TOPICS[flow]));
  const full = (name: string): string => `${topicPrefix}${name}`;
  const internal = (
    { name, purpose, asWideAs, createdAsWideAs }: Omit<InternalTopic, 'flow'>,
    cleanupPolicy: BridgeTopic['cleanupPolicy'],
  ): BridgeTopic => ({
    ...{ name: full(name), purpose, direction: 'internal', cleanupPolicy, isNeeded: true },
    maxMessageBytes: LARGEST_RECORD_BYTES,
    ...(asWideAs && { asWideAs: asWideAs.map(full) }),
    ...(createdAsWideAs && { createdAsWideAs: createdAsWideAs.map(full) }),
  });
  return [
    ...TOPIC_DEFINITIONS.filter(({ name }) => createTopics || needed.has(name)).map(
      ({ name, purpose, direction, cleanupPolicy }): BridgeTopic => ({
        ...{ name: full(name), purpose, direction, cleanupPolicy },
        isNeeded: needed.has(name),
        ...(name.endsWith(deadLetterTopic('')) && { maxMessageBytes: LARGEST_RECORD_BYTES }),
      }),
    ),
    ...(flows.has('work-orders') ? QUEUES : []).flatMap((queue): BridgeTopic[] => [
      internal(queue, 'compact,delete'),
      // For records that a bug keeps from being handled.
      internal(
        { name: deadLetterTopic(queue.name), purpose: 'dead letters of that queue' },
        'delete',
      ),
    ]),
    ...STATES.filter(({ flow }) => flows.has(flow)).map((state) => internal(state, 'compact')),
    internal(
      { name: INTERNAL_TOPICS.flowControls, purpose: 'flows that are paused by hand' },
      'compact',
    ),
    {
      ...internal(
        { name: INTERNAL_TOPICS.flowShares, purpose: 'what each process has of the flows' },
        'compact',
      ),
      segmentMs: SHARES_SEGMENT_MS,
    },
  ];
}

/** The topics whose offsets the bridge commits, of those. */
export function consumedTopics(topics: readonly BridgeTopic[]): BridgeTopic[] {
  const queues: readonly string[] = Object.values(WORK_ORDER_QUEUES);
  return topics.filter(
    ({ name, direction }) => direction === 'in' || queues.some((queue) => name.endsWith(queue)),
  );
}

/** The topics, without the prefix, whose offsets the bridge commits for a flow. */
export const CONSUMED_TOPICS: Record<Flow, readonly string[]> = {
  'work-orders': [TOPICS.workOrderLists, TOPICS.workOrders, ...Object.values(WORK_ORDER_QUEUES)],
  'downtime-reasons': [TOPICS.downtimeReasons],
  'machine-states': [],
};
