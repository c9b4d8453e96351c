import type { MessageHeaders } from '#libs/contracts';
import { UnencodableMessageError, unsentBatches } from '#libs/kafkajs-patches';

export interface OutboundRecord {
  /** Full name, prefix included. */
  topic: string;
  key: Buffer | string | null;
  value: Buffer | string | null;
  /** An object for the bridge's own headers, a list for those that it forwards. */
  headers: MessageHeaders | Readonly<Record<string, string>>;
  /** Chooses the partition by its hash; without it, the key does. */
  partitionKey?: string;
  /** Only where no hash chooses the partition. */
  partition?: number;
  /** Epoch milliseconds, or -1 for none, as text; without it, when it is sent. */
  timestamp?: string;
  /** A record of state: its partition is given, and yet it is read by its key alone. */
  isState?: true;
  /** Makes a record in place of a refused one; without it, that must be written as it is or not at all. */
  leaner?: (refusal: RecordRefusedError) => OutboundRecord;
}

/** A record that Kafka, or the client, will never take however often it is sent. */
export class RecordRefusedError extends Error {
  constructor(
    /** `too-large` is a broker's answer, `beyond-bound` our own: no setting of a topic changes that. */
    readonly code: 'too-large' | 'beyond-bound' | 'unencodable' | 'ill-dated' | 'keyless',
    cause: Error,
    /** The topic that the broker's answer names, where it names one. */
    readonly topic?: string,
  ) {
    super(`the record is ${code}: ${cause.message}`, { cause });
    this.name = 'RecordRefusedError';
  }
}

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/**
 * Distinguishes a refusal of records, which must not be retried for ever, from an outage, which must. The time of a
 * record is this host's clock at each try, so that a refused time is a matter of the clocks. Any other error of the
 * client, even a bug, passes with the connection or the metadata that it came from.
 *
 * @param hasOwnTime the time was given with the record, and will be the same at the next try
 * @param isKeyless the record, or one of them, has no key
 */
export function refusalOf(
  error: unknown,
  { hasOwnTime = false, isKeyless = false } = {},
): RecordRefusedError | undefined {
  if (error instanceof RecordRefusedError) return error;
  for (let cause = error; isError(cause); cause = cause.cause) {
    const { name, type } = cause;
    if (isTooLarge(cause)) {
      const batch = unsentBatches(error)?.find(({ refusal }) => isTooLarge(refusal));
      return new RecordRefusedError('too-large', cause, batch?.topic);
    }
    if (hasOwnTime && type === 'INVALID_TIMESTAMP')
      return new RecordRefusedError('ill-dated', cause);
    if (isKeyless && type === 'INVALID_RECORD') {
      const why = 'a topic whose cleanup.policy is compact takes records with a key alone';
      return new RecordRefusedError('keyless', new Error(why, { cause }));
    }
    if (name === UnencodableMessageError.name) return new RecordRefusedError('unencodable', cause);
  }
  return undefined;
}

function isTooLarge(error: unknown): boolean {
  return isError(error) && TOO_LARGE.has(String(error.type));
}

/** Not instanceof: an error may come from another realm. */
function isError(value: unknown): value is Error & { type?: unknown } {
  return typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
}
