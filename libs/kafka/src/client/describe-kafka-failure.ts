const SILENT =
  'no broker answers there: if that goes on, look at it and at the way to it, or correct KAFKA_BROKERS';
const NO_TLS =
  'no TLS could be agreed on: if that goes on, the port is one without TLS, see KAFKA_SSL and KAFKA_BROKERS';

/** Advice on settings, by the code of Node's TLS, the type of the broker's answer or the name of kafkajs's error. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|(DEPTH_ZERO_)?SELF_SIGNED_CERT(_IN_CHAIN)?|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED)$/,
    "the broker's certificate is of an authority that is not trusted: KAFKA_SSL_CA_FILE must hold that " +
      'authority (without the setting, those that come with Node are trusted)',
  ],
  [
    /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    "the broker's certificate, or that of its authority, is not valid at this time: renew it, or set the clock",
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    "the broker's certificate is for other hosts: KAFKA_BROKERS, and the broker's advertised.listeners, " +
      'must name it as its certificate does',
  ],
  // The wording of the TLS library varies, that of the alert does not.
  [
    /^ERR_SSL_.*ALERT_(BAD_CERTIFICATE|CERTIFICATE_|UNSUPPORTED_CERT|UNKNOWN_CA)/,
    'the broker asks for a certificate, or does not accept this one: ' +
      'see KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE',
  ],
  [/^ERR_SSL_/, NO_TLS],
  [
    /^KafkaJSSASLAuthenticationError$/,
    'the broker refuses the login: KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD is wrong, or the user is ' +
      'not one of KAFKA_SASL_MECHANISM',
  ],
  [
    /^NO_TOKEN$/,
    'there is no token for the login: see KAFKA_SASL_OAUTH_TOKEN_URL, KAFKA_SASL_OAUTH_CLIENT_ID, ' +
      'KAFKA_SASL_OAUTH_CLIENT_SECRET and KAFKA_SASL_OAUTH_SCOPE',
  ],
  [
    /^TOKEN_REFUSED$/,
    'the broker refuses the token of KAFKA_SASL_OAUTH_TOKEN_URL: issuer, audience, scope or an extension ' +
      'is not what it expects, or its own keys are out of date',
  ],
  [
    /^ECONNREFUSED$/,
    'no broker listens there: if that goes on, start it, or correct KAFKA_BROKERS',
  ],
  [
    /^ENOTFOUND$/,
    "the host of a broker is not known: correct KAFKA_BROKERS, or the broker's advertised.listeners",
  ],
  [/^UNSUPPORTED_SASL_MECHANISM$/, 'the broker does not offer what KAFKA_SASL_MECHANISM names'],
  [
    /^RENEWED_TOO_SOON$/,
    'a session of the login ends within a second, before the broker takes the next login: let tokens, or ' +
      "sessions (the brokers' connections.max.reauth.ms), last for ten seconds or more",
  ],
  [
    /^ILLEGAL_SASL_STATE$/,
    'the broker knows no login at this port: unset the KAFKA_SASL_… settings, or correct KAFKA_BROKERS',
  ],
  [
    /^KafkaJSConnectionClosedError$/,
    'the broker closed the connection: if that goes on, its port expects another KAFKA_SSL or a ' +
      'KAFKA_SASL_MECHANISM',
  ],
];

interface KafkaFailure extends Error, AboutTopic {
  code?: unknown;
  type?: unknown;
  broker?: unknown;
  /** Failures of topics created in one request. */
  errors?: readonly CreateTopicFailure[];
}

/** Describes a failed request for operators: settings by name, never by value; rights and topics by name. */
export function describeKafkaFailure(error: unknown, asked: Asked = {}): string {
  let known = asked;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const failure: KafkaFailure = cause;
    const { name, type, topic, right = known.right } = failure;
    if (name === 'KafkaJSAggregateError') return describeCreateTopicFailures(failure.errors ?? []);
    known = { ...known, ...(right && { right }), ...(topic && { topics: [topic] }) };
    const advice = adviceOf(failure);
    if (advice !== undefined) return `${advice} (${detailOf(failure)})`;
    const answer = typeof type === 'string' ? type : name;
    const remedy = adviceOfAnswer(answer, known);
    if (remedy) return `${remedy} (${answer})`;
  }
  return String(error);
}

/** kafkajs's errors for a broker that accepts no connection, or accepts one and does not answer. */
const NO_ANSWER: readonly string[] = ['Broker not connected', 'Connection timeout'];

function adviceOf(error: KafkaFailure): string | undefined {
  if (NO_ANSWER.includes(error.message)) return SILENT;
  // Node reports it under the code of a broken connection, which varies.
  if (error.message.includes('before secure TLS connection was established')) return NO_TLS;
  const marks = [error.code, error.type, error.name].filter((mark) => typeof mark === 'string');
  return ADVICE.find(([pattern]) => marks.some((mark) => pattern.test(mark)))?.[1];
}

/** The code in place of OpenSSL's message, which does not help an operator. */
function detailOf({ code, broker, message }: KafkaFailure): string {
  const what = typeof code === 'string' && code.startsWith('ERR_SSL_') ? code : message.trim();
  return typeof broker === 'string' ? `${broker}: ${what}` : what;
}

/** The failed request, where the caller knows more than the error says. */
export interface Asked {
  /** The right on topics that it needs besides Describe. */
  right?: 'Read' | 'Write' | 'Alter' | 'Delete';
  /** Full names of its topics. */
  topics?: readonly string[];
}

/** An error with the same data about its request. */
export interface AboutTopic {
  readonly right?: Asked['right'];
  readonly topic?: string;
}

const ON_GROUPS = 'Read on groups whose names begin with that of KAFKA_GROUP_ID';
const ON_TRANSACTIONAL_IDS =
  'Write and Describe on transactional ids whose names begin with that of KAFKA_GROUP_ID';

/** Advice on a broker's answer, by its type or the name of kafkajs's error; undefined if it is clear by itself. */
function adviceOfAnswer(type: string, { right, topics = [] }: Asked): string | undefined {
  const named = topics.length > 1 ? `one of ${topics.join(', ')}` : topics.join('');
  switch (type) {
    case 'TOPIC_AUTHORIZATION_FAILED':
      return `a right is missing: ${needed(right)} on ${named || 'one of the topics'}`;
    case 'OPERATION_NOT_ATTEMPTED':
      // The answer names one of several topics, not necessarily the one at fault.
      return named && `a right is missing: ${needed(right)} on ${named}, unless it was deleted`;
    case 'GROUP_AUTHORIZATION_FAILED':
      return `a right is missing: ${ON_GROUPS}`;
    case 'INCONSISTENT_GROUP_PROTOCOL':
      return 'another program is a member of the consumer group: end that, or give one of them another KAFKA_GROUP_ID';
    case 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED':
      return `a right is missing: ${ON_TRANSACTIONAL_IDS}`;
    case 'KafkaJSGroupCoordinatorNotFound':
      // kafkajs drops the reason.
      return (
        'no broker names the coordinator: if that goes on, a right may be missing: ' +
        `${ON_GROUPS}, or ${ON_TRANSACTIONAL_IDS}`
      );
    case 'INVALID_TIMESTAMP':
      return `this host's clock and the broker's differ: set them, or see message.timestamp.after.max.ms and message.timestamp.before.max.ms of ${named || 'the topic'}`;
    case 'MESSAGE_TOO_LARGE':
    case 'RECORD_LIST_TOO_LARGE':
      return named && `larger than max.message.bytes allows of ${named}`;
    case 'INVALID_RECORD':
      return (
        named &&
        `not taken by ${named}: where its cleanup.policy is compact, each record needs a key`
      );
    case 'CORRUPT_MESSAGE':
    case 'KAFKA_STORAGE_ERROR':
      return right === 'Read' && named
        ? `${named} cannot be read: it is damaged, or on a disk that fails; see the log of the broker that holds it`
        : undefined;
    case 'UNKNOWN':
      return right === 'Read' && named
        ? `${named} cannot be read; the log of the broker that holds it says why`
        : undefined;
    case 'CONCURRENT_TRANSACTIONS':
      // Its topics may be those of a former owner: they are not known here.
      return 'the brokers have not ended the transaction before: if that goes on, a partition that it wrote to has no leader, or fewer replicas in sync than its min.insync.replicas asks for';
    case 'OFFSET_METADATA_TOO_LARGE':
      return 'the brokers take less than 4096 characters with an offset: raise their offset.metadata.max.bytes';
    case 'INVALID_TRANSACTION_TIMEOUT':
      // kafkajs's message names another setting.
      return 'the brokers let no transaction last as long as it may have to: raise their transaction.max.timeout.ms to 30000';
    case 'INVALID_SESSION_TIMEOUT':
      return 'the brokers take no sessions of 8 s: their group.min.session.timeout.ms has to be 8000 or less, group.max.session.timeout.ms no less';
    case 'NOT_ENOUGH_REPLICAS':
    case 'NOT_ENOUGH_REPLICAS_AFTER_APPEND':
      return named && `fewer replicas are in sync than min.insync.replicas asks for of ${named}`;
    case 'GROUP_COORDINATOR_NOT_AVAILABLE':
      // Coordinators of transactions give the same answer.
      return 'no coordinator of the group or of transactions answers: if that goes on, a partition of __consumer_offsets or __transaction_state has no leader, or fewer replicas in sync than its min.insync.replicas asks for';
    case 'LEADER_NOT_AVAILABLE':
      return `a partition of ${named || 'a topic'} has no leader that answers: if that goes on, a broker that holds it, or a disk of it, is away`;
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

const NO_RIGHT = 'a right is missing: Create, or Describe where there are such topics already';

/** Reasons why a topic is not created, by the type of the broker's answer. */
const CREATE_TOPIC_ADVICE = new Map([
  ['TOPIC_AUTHORIZATION_FAILED', NO_RIGHT],
  ['CLUSTER_AUTHORIZATION_FAILED', NO_RIGHT],
  [
    'POLICY_VIOLATION',
    "the brokers' policy does not allow such topics as the bridge makes: create them by hand",
  ],
  [
    'INVALID_TOPIC_EXCEPTION',
    'not a name for a topic, or another one differs in dots and underscores alone: see KAFKA_TOPIC_PREFIX',
  ],
  [
    'INVALID_REPLICATION_FACTOR',
    "there are fewer brokers than the brokers' default.replication.factor asks for",
  ],
  ['INVALID_PARTITIONS', 'the brokers do not take the number in KAFKA_TOPIC_PARTITIONS'],
  [
    'INVALID_CONFIG',
    'the brokers do not take cleanup.policy, max.message.bytes or max.compaction.lag.ms as the bridge sets it: create them by hand',
  ],
]);

/** kafkajs's error for one of several topics. */
interface CreateTopicFailure extends Error {
  type?: unknown;
  topic?: unknown;
}

function describeCreateTopicFailures(failures: readonly CreateTopicFailure[]): string {
  const topicsOf = new Map<string, string[]>();
  for (const { type, topic, message } of failures) {
    if (type === 'TOPIC_ALREADY_EXISTS') continue;
    const why = `${CREATE_TOPIC_ADVICE.get(String(type)) ?? message} (${String(type)})`;
    topicsOf.set(why, [...(topicsOf.get(why) ?? []), String(topic)]);
  }
  return [...topicsOf].map(([why, topics]) => `${why}: ${topics.join(', ')}`).join('; ');
}
