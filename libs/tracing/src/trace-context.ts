import type { MessageHeaders } from '#libs/contracts';

/** The headers of W3C Trace Context, which messages and requests carry. */
export interface TraceContext {
  /** In version 00: 55 characters. */
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

const TRACEPARENT =
  /^(?!ff)([\da-f]{2})(-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2})(-.*)?$/s;
/**
 * Printable ASCII, at most the length that W3C requires participants to propagate. With other characters the HTTP
 * request could not be sent, and the bridge would retry the message forever.
 */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace context in the headers of a record; undefined where it is absent or invalid. */
export function traceContextOf(headers: MessageHeaders): TraceContext | undefined {
  let traceparent: string | undefined;
  let tracestate: string | undefined;
  for (const [name, value] of headers) {
    if (name === 'traceparent') traceparent ??= textOf(value);
    else if (name === 'tracestate') tracestate ??= textOf(value);
  }
  const [, version, idsAndFlags, more] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  // a later version may have further fields, which are left out
  if (idsAndFlags === undefined || (version === '00' && more !== undefined)) return undefined;
  const isPassedOn = tracestate !== undefined && TRACESTATE.test(tracestate);
  return { traceparent: `00${idsAndFlags}`, ...(isPassedOn && { tracestate }) };
}

/** The headers of a record or request that carry the context. */
export function traceHeaders(context: TraceContext | undefined): Record<string, string> {
  if (context === undefined) return {};
  const { traceparent, tracestate } = context;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

function textOf(value: Buffer | string | null): string | undefined {
  return typeof value === 'string' ? value : value?.toString('latin1');
}
