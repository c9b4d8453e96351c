import { type BridgeSettings, type Flow } from '#libs/config';
import { deadLetterTopic, TOPIC_DEFINITIONS, TOPICS, WORK_ORDER_QUEUES } from '#libs/contracts';
import { type TopicSpecification } from '#libs/kafka';

/** As the bridge makes those whose records carry more than an input does. */
const LARGEST_RECORD_BYTES = 16 * 1024 * 1024;

/** A topic of the bridge as it is meant to be; names are full, prefix included. */
export interface PlannedTopic extends TopicSpecification {
  purpose: string;
  direction: 'in' | 'out' | 'internal';
  /** Whether a bridge with these settings cannot do without it. */
  isNeeded: boolean;
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

const { relayedOrders, assignmentChanges, orderRefusals } = WORK_ORDER_QUEUES;

const STATES: readonly InternalTopic[] = [
  {
    name: 'machine-bridge.machine-states.v1',
    purpose: 'what is remembered of machines',
    flow: 'machine-states',
  },
  {
    name: 'machine-bridge.work-order-list-fences.v1',
    purpose: 'watermarks of lists',
    flow: 'work-orders',
    asWideAs: [TOPICS.workOrderLists],
  },
  {
    name: 'machine-bridge.orders.v1',
    purpose: 'orders of the ledger',
    flow: 'work-orders',
    asWideAs: [relayedOrders],
  },
  {
    name: 'machine-bridge.assignments.v1',
    purpose: 'operations on each machine',
    flow: 'work-orders',
    asWideAs: [assignmentChanges],
  },
];

const QUEUES: readonly InternalTopic[] = [
  {
    name: relayedOrders,
    purpose: 'orders on their way to the ledger',
    flow: 'work-orders',
    createdAsWideAs: [TOPICS.workOrders],
  },
  {
    name: orderRefusals,
    purpose: 'refusals on their way to their document',
    flow: 'work-orders',
    asWideAs: [TOPICS.workOrders],
  },
  {
    name: assignmentChanges,
    purpose: 'changes of assignments on their way to their machine',
    flow: 'work-orders',
    createdAsWideAs: [TOPICS.workOrderLists],
  },
];

/** The topics that a bridge with these settings uses, and has to create; the same that it prepares at its start. */
export function plannedTopics({
  kafka: { topicPrefix, createTopics },
  flows,
}: Pick<BridgeSettings, 'kafka' | 'flows'>): PlannedTopic[] {
  const needed = new Set([...flows].flatMap((flow) => FLOW_TOPICS[flow]));
  const full = (name: string): string => `${topicPrefix}${name}`;
  const internal = (
    { purpose, flow, asWideAs, createdAsWideAs, ...topic }: InternalTopic,
    cleanupPolicy: PlannedTopic['cleanupPolicy'],
  ): PlannedTopic => ({
    name: full(topic.name),
    purpose,
    direction: 'internal',
    cleanupPolicy,
    maxMessageBytes: LARGEST_RECORD_BYTES,
    isNeeded: flows.has(flow),
    ...(asWideAs && { asWideAs: asWideAs.map(full) }),
    ...(createdAsWideAs && { createdAsWideAs: createdAsWideAs.map(full) }),
  });
  const ofFlows = <T extends { flow: Flow }>(topics: readonly T[]): T[] =>
    topics.filter(({ flow }) => flows.has(flow));
  return [
    ...TOPIC_DEFINITIONS.filter(({ name }) => createTopics || needed.has(name)).map(
      ({ name, direction, cleanupPolicy }): PlannedTopic => ({
        name: full(name),
        purpose: PURPOSES[name] ?? 'dead letters of that input',
        direction,
        cleanupPolicy,
        isNeeded: needed.has(name),
        ...(name.endsWith(deadLetterTopic('')) && { maxMessageBytes: LARGEST_RECORD_BYTES }),
      }),
    ),
    ...ofFlows(QUEUES).flatMap((queue): PlannedTopic[] => [
      internal(queue, 'compact,delete'),
      internal(
        {
          name: deadLetterTopic(queue.name),
          purpose: 'dead letters of that queue',
          flow: queue.flow,
        },
        'delete',
      ),
    ]),
    ...ofFlows(STATES).map((state) => internal(state, 'compact')),
  ];
}

/** The topics whose offsets the bridge commits, of those planned. */
export function consumedTopics(planned: readonly PlannedTopic[]): PlannedTopic[] {
  const queues: readonly string[] = Object.values(WORK_ORDER_QUEUES);
  return planned.filter(
    ({ name, direction }) => direction === 'in' || queues.some((queue) => name.endsWith(queue)),
  );
}
