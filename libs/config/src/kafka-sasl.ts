import { type EnvironmentReader } from './environment-reader.js';

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
const MECHANISM = 'KAFKA_SASL_MECHANISM';
const USERNAME = 'KAFKA_SASL_USERNAME';
const PASSWORD = 'KAFKA_SASL_PASSWORD';

export interface KafkaSaslSettings {
  mechanism: (typeof MECHANISMS)[number];
  username: string;
  password: string;
}

/** Undefined without a mechanism; credentials that would go unused are a problem. */
export function readSasl(env: EnvironmentReader): KafkaSaslSettings | undefined {
  if (!env.isSet(MECHANISM)) {
    const unused = [USERNAME, PASSWORD, `${PASSWORD}_FILE`].filter((name) => env.isSet(name));
    if (unused.length > 0) env.problem(MECHANISM, `is required beside ${unused.join(', ')}`);
    return undefined;
  }
  return {
    mechanism: env.oneOf(MECHANISM, MECHANISMS, 'plain'),
    username: env.required(USERNAME, `${MECHANISM} is set`),
    password: env.requiredSecret(PASSWORD, `${MECHANISM} is set`),
  };
}
