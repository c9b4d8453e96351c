import { type AboutTopic, type Asked, sayingOfAnswer } from './broker-answer.js';
import { type CreateTopicFailure, describeCreateTopicFailures } from './create-topic-failures.js';

const UNTRUSTED =
  "the broker's certificate is of an authority that is not trusted: KAFKA_SSL_CA_FILE must hold that " +
  'authority (without the setting, those that come with Node are trusted)';
const OUT_OF_DATE =
  "the broker's certificate, or that of its authority, is not valid at this time: renew it, or set the clock";
const NO_SASL =
  'the broker knows no login at this port: unset the KAFKA_SASL_… settings, or correct KAFKA_BROKERS';
const CLIENT_CERTIFICATE =
  'the broker asks for a certificate, or does not accept this one: ' +
  'see KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE';
const NO_TLS =
  'no TLS could be agreed on: if that goes on, the port is one without TLS, see KAFKA_SSL and KAFKA_BROKERS';

/** What settings are about, by the code of Node's TLS, the type of the broker's answer or the name of kafkajs's error. */
const SAYINGS: readonly (readonly [RegExp, string])[] = [
  [
    /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|(DEPTH_ZERO_)?SELF_SIGNED_CERT(_IN_CHAIN)?|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED)$/,
    UNTRUSTED,
  ],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/, OUT_OF_DATE],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    "the broker's certificate is for other hosts: KAFKA_BROKERS, and the broker's advertised.listeners, " +
      'must name it as its certificate does',
  ],
  // The wording of the library in between differs, that of the alert does not.
  [
    /^ERR_SSL_.*ALERT_(BAD_CERTIFICATE|CERTIFICATE_|UNSUPPORTED_CERT|UNKNOWN_CA)/,
    CLIENT_CERTIFICATE,
  ],
  [/^ERR_SSL_/, NO_TLS],
  [
    /^KafkaJSSASLAuthenticationError$/,
    'the broker refuses the login: KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD is wrong, or the user is ' +
      'not one of KAFKA_SASL_MECHANISM',
  ],
  [/^UNSUPPORTED_SASL_MECHANISM$/, 'the broker does not offer what KAFKA_SASL_MECHANISM names'],
  [/^ILLEGAL_SASL_STATE$/, NO_SASL],
  [
    /^KafkaJSConnectionClosedError$/,
    'the broker closed the connection: if that goes on, its port expects another KAFKA_SSL or a ' +
      'KAFKA_SASL_MECHANISM',
  ],
];

interface ToldOf extends Error, AboutTopic {
  code?: unknown;
  type?: unknown;
  broker?: unknown;
  /** What kafkajs tells of topics that are made together. */
  errors?: readonly CreateTopicFailure[];
}

/**
 * Why Kafka did not do as it was asked, for an operator: where the way to it is at fault, by the name of the setting
 * and never with its value; where a right or a topic is, by their names; anything else as kafkajs has it.
 */
export function describeKafkaFailure(error: unknown, asked: Asked = {}): string {
  let known = asked;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const told: ToldOf = cause;
    const { name, type, topic, right = known.right } = told;
    if (name === 'KafkaJSAggregateError') return describeCreateTopicFailures(told.errors ?? []);
    known = { ...known, ...(right && { right }), ...(topic && { topics: [topic] }) };
    const saying = sayingOf(told);
    if (saying !== undefined) return `${saying} (${detailOf(told)})`;
    const answer = typeof type === 'string' ? type : name;
    const remedy = sayingOfAnswer(answer, known);
    if (remedy) return `${remedy} (${answer})`;
  }
  return String(error);
}

function sayingOf(error: ToldOf): string | undefined {
  // Node reports it by the code of a connection that broke, which may be anything.
  if (error.message.includes('before secure TLS connection was established')) return NO_TLS;
  const marks = [error.code, error.type, error.name].filter((mark) => typeof mark === 'string');
  return SAYINGS.find(([pattern]) => marks.some((mark) => pattern.test(mark)))?.[1];
}

/** OpenSSL's messages are of no use to anybody but its authors: its code says the same. */
function detailOf({ code, broker, message }: ToldOf): string {
  const what = typeof code === 'string' && code.startsWith('ERR_SSL_') ? code : message.trim();
  return typeof broker === 'string' ? `${broker}: ${what}` : what;
}
