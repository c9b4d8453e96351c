/** What was asked of Kafka, where whoever has asked knows more of it than the answer tells. */
export interface Asked {
  /** The right on topics it takes, beside Describe. */
  right?: 'Read' | 'Write' | 'Alter' | 'Delete';
  /** The topics it was about, by their full names. */
  topics?: readonly string[];
}

/** An error that tells the same of what was asked. */
export interface AboutTopic {
  readonly right?: Asked['right'];
  readonly topic?: string;
}

const ON_GROUPS = 'Read on groups whose names begin with that of KAFKA_GROUP_ID';
const ON_TRANSACTIONAL_IDS =
  'Write and Describe on transactional ids whose names begin with that of KAFKA_GROUP_ID';

/** What is to be done about a broker's answer, by its type, or the name of kafkajs's error; undefined if that says it all. */
export function sayingOfAnswer(type: string, { right, topics = [] }: Asked): string | undefined {
  const named = topics.length > 1 ? `one of ${topics.join(', ')}` : topics.join('');
  switch (type) {
    case 'TOPIC_AUTHORIZATION_FAILED':
      return `a right is missing: ${needed(right)} on ${named || 'one of the topics'}`;
    case 'OPERATION_NOT_ATTEMPTED':
      // of several topics it is told of one, which need not be the one that is refused
      return named && `a right is missing: ${needed(right)} on ${named}`;
    case 'GROUP_AUTHORIZATION_FAILED':
      return `a right is missing: ${ON_GROUPS}`;
    case 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED':
      return `a right is missing: ${ON_TRANSACTIONAL_IDS}`;
    case 'KafkaJSGroupCoordinatorNotFound':
      // kafkajs does not pass on why
      return (
        'no broker tells which of them coordinates: if that goes on, a right may be missing: ' +
        `${ON_GROUPS}, or ${ON_TRANSACTIONAL_IDS}`
      );
    case 'INVALID_TIMESTAMP':
      return `this host's clock and the broker's differ: set them, or see message.timestamp.after.max.ms and message.timestamp.before.max.ms of ${named || 'the topic'}`;
    case 'MESSAGE_TOO_LARGE':
    case 'RECORD_LIST_TOO_LARGE':
      return named && `larger than max.message.bytes allows of ${named}`;
    case 'NOT_ENOUGH_REPLICAS':
    case 'NOT_ENOUGH_REPLICAS_AFTER_APPEND':
      return named && `fewer replicas are in sync than min.insync.replicas asks for of ${named}`;
    case 'UNKNOWN_TOPIC_OR_PARTITION':
    case 'KafkaJSMetadataNotLoaded':
    case 'KafkaJSTopicMetadataNotLoaded':
      return named && `not known to the broker: a partition, or all, of ${named}`;
    default:
      return undefined;
  }
}

function needed(right: Asked['right']): string {
  if (right === 'Alter') return 'Alter';
  return right === undefined ? 'Read, Write or Describe' : `${right} or Describe`;
}
