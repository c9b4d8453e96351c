import { type EnvironmentReader } from './environment-reader.js';

/** No brackets and no colon: kafkajs takes what stands before the first colon for the host. */
const BROKER = /^[A-Za-z0-9._-]+:(?<port>\d{1,5})$/;

/** `host:port` of one or more brokers, by commas. */
export function readBrokers(env: EnvironmentReader): string[] {
  const name = 'KAFKA_BROKERS';
  const brokers = env.list(name, []);
  if (brokers.length === 0) {
    env.problem(name, 'is required: host:port of one or more brokers, by commas');
  } else if (!brokers.every(isBroker)) {
    env.problem(
      name,
      'must be host:port, by commas: a host name or IPv4 address and a port from 1 to 65535, ' +
        'without blanks and without a scheme such as kafka://',
    );
  }
  return brokers;
}

function isBroker(text: string): boolean {
  const port = Number(BROKER.exec(text)?.groups?.['port']);
  return port >= 1 && port <= 65_535;
}
