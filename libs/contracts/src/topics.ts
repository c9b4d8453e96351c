/** The parts of the bridge's work that `BRIDGE_FLOWS` switches. */
export const FLOWS = ['work-orders', 'downtime-reasons', 'machine-states'] as const;
export type Flow = (typeof FLOWS)[number];

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
}

const DEAD_LETTER_SUFFIX = '.dlq';

/** Works with and without the configured prefix: the suffix is all it adds. */
export function deadLetterTopic(topic: string): string {
  return `${topic}${DEAD_LETTER_SUFFIX}`;
}

function topic(
  name: string,
  direction: TopicDefinition['direction'],
  cleanupPolicy: TopicDefinition['cleanupPolicy'],
  key: TopicDefinition['key'],
): TopicDefinition {
  return { name, direction, cleanupPolicy, key };
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
  topic(TOPICS.workOrderLists, 'in', 'delete', 'machineId'),
  topic(TOPICS.workOrders, 'in', 'delete', 'orderId'),
  topic(TOPICS.downtimeReasons, 'in', 'delete', 'machineId'),
  topic(TOPICS.stateChanges, 'out', 'delete', 'machineId'),
  topic(TOPICS.states, 'out', 'compact', 'machineId'),
  topic(TOPICS.registry, 'out', 'compact', 'machineId'),
  topic(TOPICS.classificationReasons, 'out', 'compact', 'machineId'),
  topic(TOPICS.commandOutcomes, 'out', 'delete', 'machineId-or-input-key'),
  ...INPUT_TOPICS.map((name) => topic(deadLetterTopic(name), 'out', 'delete', 'input-key')),
];
