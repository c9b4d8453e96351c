import {
  deadLetterTopic,
  type Flow,
  INTERNAL_TOPICS,
  TOPIC_DEFINITIONS,
  TOPICS,
  WORK_ORDER_QUEUES,
} from './topics.js';

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

const PURPOSES: Record<string, string> = {
  [TOPICS.workOrderLists]: 'work order lists, for the bridge',
  [TOPICS.workOrders]: 'work orders and documents of an ERP, for the bridge',
  [TOPICS.downtimeReasons]: 'downtime reasons, for the bridge',
  [TOPICS.stateChanges]: 'changes of machine states',
  [TOPICS.states]: 'latest state of each machine',
  [TOPICS.registry]: 'machines that the token may see',
  [TOPICS.classificationReasons]: 'downtime reasons of each machine',
  [TOPICS.commandOutcomes]: 'outcomes of input messages',
};

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
      ({ name, direction, cleanupPolicy }): BridgeTopic => ({
        name: full(name),
        purpose: PURPOSES[name] ?? 'dead letters of that input',
        direction,
        cleanupPolicy,
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
