import { type Flow } from '#libs/config';
import { deadLetterTopic, TOPICS } from '#libs/contracts';

/** The topics, without the prefix, that the flows switched on cannot do without. */
export function neededTopics(flows: ReadonlySet<Flow>): ReadonlySet<string> {
  return new Set([...flows].flatMap(topicsOf));
}

function topicsOf(flow: Flow): string[] {
  switch (flow) {
    case 'work-orders':
      return [
        ...[TOPICS.workOrderLists, TOPICS.workOrders].flatMap(withDeadLetters),
        TOPICS.commandOutcomes,
      ];
    case 'downtime-reasons':
      return [
        ...withDeadLetters(TOPICS.downtimeReasons),
        TOPICS.commandOutcomes,
        TOPICS.classificationReasons,
      ];
    case 'machine-states':
      return [TOPICS.stateChanges, TOPICS.states, TOPICS.registry, TOPICS.classificationReasons];
    default:
      return flow satisfies never;
  }
}

function withDeadLetters(topic: string): string[] {
  return [topic, deadLetterTopic(topic)];
}
