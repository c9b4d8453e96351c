import type { MessageHeaders } from '#libs/contracts';

/** A place in a trace as it travels with messages and requests: the headers of W3C Trace Context. */
export interface TraceContext {
  /** A header of version 00: 55 characters. */
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** Version, ids and flags. */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})(-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2})(-.*)?$/s;
/**
 * Printable ASCII in the length that W3C asks everyone to pass on. It becomes a header of an HTTP request, which could
 * not be sent with anything else: the message would be tried for ever.
 */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace context in the headers of a record; undefined where there is none, or an invalid one. */
export function traceContextOf(headers: MessageHeaders): TraceContext | undefined {
  let traceparent: string | undefined;
  let tracestate: string | undefined;
  for (const [name, value] of headers) {
    if (name === 'traceparent') traceparent ??= textOf(value);
    else if (name === 'tracestate') tracestate ??= textOf(value);
  }
  const [, version, idsAndFlags, more] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  // a later version may have more behind these, which is left out
  if (idsAndFlags === undefined || (version === '00' && more !== undefined)) return undefined;
  const isPassedOn = tracestate !== undefined && TRACESTATE.test(tracestate);
  return { traceparent: `00${idsAndFlags}`, ...(isPassedOn && { tracestate }) };
}

/** The context as headers of a record or a request; none without a context. */
export function traceHeaders(context: TraceContext | undefined): Record<string, string> {
  if (context === undefined) return {};
  const { traceparent, tracestate } = context;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

function textOf(value: Buffer | string | null): string | undefined {
  return typeof value === 'string' ? value : value?.toString('latin1');
}
