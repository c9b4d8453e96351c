import { FinalFailure } from '../eventually.js';
import { secretIn } from '../secrets.js';
import { compileSchema, type FaultsOf } from './compile-schema.js';
import { contradictionsIn } from './contract-rules.js';
import { type DocumentedMessage, DOCUMENTED_TOPICS } from './event-documents.js';
import { headersAsText, payloadOf, type PublishedRecord } from './published-record.js';

/** A record that contradicts docs/asyncapi.yaml. Waiting does not help. */
export class InvalidEventError extends FinalFailure {
  constructor(record: PublishedRecord, faults: readonly string[]) {
    const { topic, key, value } = record;
    const shown = JSON.stringify(headersAsText(record)) + ' ' + String(value).slice(0, 1000);
    super(`a record of ${topic}, key ${String(key)}: ${faults.join('; ')}\n${shown}`);
    this.name = 'InvalidEventError';
  }
}

interface Check {
  headers: FaultsOf;
  payload: FaultsOf;
}

const checksOf = new Map<string, Check[]>();

/** Whether docs/asyncapi.yaml describes what the bridge publishes on this topic (name without the configured prefix). */
export function isPublishedTopic(topic: string): boolean {
  return DOCUMENTED_TOPICS.some(({ name, direction }) => name === topic && direction === 'out');
}

/**
 * Checks a record of one of the bridge's topics against its schemas in docs/asyncapi.yaml, and against the other rules
 * of the contract.
 *
 * @throws InvalidEventError
 */
export function expectValidEvent(record: PublishedRecord): void {
  const error = invalidity(record);
  if (error !== undefined) throw error;
}

/** Why the record should not have been published; undefined if it is valid. */
export function invalidity(record: PublishedRecord): InvalidEventError | undefined {
  const faults = faultsOf(record);
  const text = `${JSON.stringify(headersAsText(record))} ${String(record.value)}`;
  const setting = secretIn(text);
  if (setting !== undefined) faults.push(`it holds the secret of ${setting}`);
  return faults.length > 0 ? new InvalidEventError(record, faults) : undefined;
}

function faultsOf(record: PublishedRecord): string[] {
  const said = { headers: headersAsText(record), payload: readablePayload(record) };
  let fewest: string[] | undefined;
  for (const check of checksFor(record.topic)) {
    const faults = faultsAgainst(check, said);
    if (faults.length === 0) return contradictionsIn(record);
    // the record was most likely meant to be the message with the fewest faults
    if (fewest === undefined || faults.length < fewest.length) fewest = faults;
  }
  return fewest ?? ['docs/asyncapi.yaml does not say what is published there'];
}

function faultsAgainst(
  { headers, payload }: Check,
  said: { headers: unknown; payload: unknown },
): string[] {
  return [
    ...headers(said.headers).map((fault) => `headers: ${fault}`),
    ...payload(said.payload).map((fault) => `value: ${fault}`),
  ];
}

/** The payload; undefined if it is not JSON, which a dead letter may be. */
function readablePayload(record: PublishedRecord): unknown {
  try {
    return payloadOf(record);
  } catch {
    return undefined;
  }
}

/** Compiled once, and only for topics that a test reads. */
function checksFor(topic: string): Check[] {
  let checks = checksOf.get(topic);
  if (checks === undefined) {
    const documented = DOCUMENTED_TOPICS.find(({ name }) => name === topic);
    checks = (documented?.messages ?? []).map(toCheck);
    checksOf.set(topic, checks);
  }
  return checks;
}

function toCheck({ headers, payload }: DocumentedMessage): Check {
  return { headers: compileSchema(headers ?? {}), payload: compileSchema(payload ?? {}) };
}
