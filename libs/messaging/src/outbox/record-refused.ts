/** A record that Kafka, or the client, will never take however often it is sent. */
export class RecordRefusedError extends Error {
  readonly retryable = false;

  constructor(
    readonly code: 'too-large' | 'unencodable' | 'ill-dated',
    cause: Error,
  ) {
    super(`the record is ${code}: ${cause.message}`, { cause });
    this.name = 'RecordRefusedError';
  }
}

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);
/** What encoding throws; kafkajs encodes inside its own retries, and may wrap it. */
const ENCODING = new Set(['TypeError', 'RangeError']);

/** Tells a refusal of what was sent from an outage: the one must not be retried for ever, the other must. */
export function refusalOf(error: unknown): RecordRefusedError | undefined {
  for (let cause = error; isError(cause); cause = cause.cause) {
    const { name, type } = cause;
    if (TOO_LARGE.has(String(type))) return new RecordRefusedError('too-large', cause);
    if (type === 'INVALID_TIMESTAMP') return new RecordRefusedError('ill-dated', cause);
    if (ENCODING.has(name)) return new RecordRefusedError('unencodable', cause);
  }
  return undefined;
}

/** Not instanceof: an error may come from another realm. */
function isError(value: unknown): value is Error & { type?: unknown } {
  return typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
}
