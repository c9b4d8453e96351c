import type { TracingSettings } from '#libs/config';
import { openTracing } from './index.js';
import {
  NO_TRACING,
  type Span,
  type TraceContext,
  traceContextOf,
  type TracedMessage,
  traceHeaders,
  type Tracing,
} from './tracing.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const sampled = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`, tracestate: 'erp=1' };
const unsampled = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-00` };
const REQUEST = { operation: 'setWorkOrderList', method: 'PUT', route: '/l', path: '/l' };

const message = (context?: TraceContext, topic = 'erp.work-order-lists.v1'): TracedMessage => ({
  ...{ topic, partition: 0, offset: 0, key: null, bytes: 1 },
  headers: Object.entries(traceHeaders(context)),
});

const open: Tracing[] = [];

async function tracingWith(sampler: TracingSettings['sampler']): Promise<Tracing> {
  const tracing = await openTracing(
    {
      exporter: {
        url: 'http://127.0.0.1:1/v1/traces',
        ...{ format: 'protobuf', headers: {}, timeoutMs: 100, isCompressed: false },
      },
      ...{ serviceName: 'test', resourceAttributes: {}, sampler },
      queue: { maxSpans: 1000, maxBatch: 1000, delayMs: 60_000 },
    },
    { topicPrefix: '', groupId: 'test', baseUrl: 'https://cloud.example.com' },
  );
  open.push(tracing);
  return tracing;
}

const isMeasured = ({ context }: Span, of?: TraceContext): boolean =>
  context !== undefined && context.traceparent !== of?.traceparent;

afterAll(() => Promise.all(open.map((tracing) => tracing.closeTracing())));

describe('tracing that records nothing', () => {
  it('propagates the context of a message, and of a single message to its request', () => {
    const one = NO_TRACING.messageStarts(message(sampled));
    const other = NO_TRACING.messageStarts(message());
    expect(one.context).toEqual(sampled);
    expect(other.context).toBeUndefined();
    expect(NO_TRACING.requestStarts(REQUEST, [one]).context).toEqual(sampled);
    for (const causes of [[], [other], [one, other]]) {
      expect(NO_TRACING.requestStarts(REQUEST, causes).context).toBeUndefined();
    }
  });
});

describe('tracing with OpenTelemetry', () => {
  it.each([
    { ratio: 1, isParentBased: true, root: true, ofSampled: true, ofUnsampled: false },
    { ratio: 0, isParentBased: true, root: false, ofSampled: true, ofUnsampled: false },
    { ratio: 1, isParentBased: false, root: true, ofSampled: true, ofUnsampled: true },
    { ratio: 0, isParentBased: false, root: false, ofSampled: false, ofUnsampled: false },
  ])(
    'samples as $ratio, parent-based $isParentBased',
    async ({ root, ofSampled, ofUnsampled, ...sampler }) => {
      const tracing = await tracingWith(sampler);
      expect(isMeasured(tracing.messageStarts(message()))).toBe(root);
      expect(isMeasured(tracing.pollStarts('M-1'))).toBe(root);
      for (const [context, expected] of [
        [sampled, ofSampled],
        [unsampled, ofUnsampled],
      ] as const) {
        const span = tracing.messageStarts(message(context));
        expect(isMeasured(span, context)).toBe(expected);
        expect(span.context?.traceparent).toContain(TRACE_ID);
        const request = tracing.requestStarts(REQUEST, [span]);
        expect(request.context?.traceparent).toContain(TRACE_ID);
        expect(isMeasured(request, span.context)).toBe(expected);
      }
    },
  );

  it('samples a share of the traces that begin here', async () => {
    const tracing = await tracingWith({ ratio: 0.25, isParentBased: false });
    const spans = Array.from({ length: 4000 }, () => tracing.messageStarts(message()));
    const measured = spans.filter((span) => isMeasured(span));
    expect(measured.length).toBeGreaterThan(800);
    expect(measured.length).toBeLessThan(1200);
    // the requests of a message are sampled as it is, whatever the sampler decides for its trace
    for (const span of measured) {
      expect(isMeasured(tracing.requestStarts(REQUEST, [span]), span.context)).toBe(true);
    }
  });

  it('begins no trace with a message of its own queues, and continues one', async () => {
    const tracing = await tracingWith({ ratio: 1, isParentBased: true });
    const queue = 'machine-bridge.assignment-changes.v1';
    expect(tracing.messageStarts(message(undefined, queue)).context).toBeUndefined();
    expect(isMeasured(tracing.messageStarts(message(sampled, queue)), sampled)).toBe(true);
  });

  it('makes a request that messages share the child of the first that is sampled', async () => {
    const tracing = await tracingWith({ ratio: 1, isParentBased: true });
    const causes = [unsampled, sampled, undefined].map((of) => tracing.messageStarts(message(of)));
    const { context } = tracing.requestStarts(REQUEST, causes);
    expect(context).toMatchObject({ tracestate: 'erp=1' });
    expect(context?.traceparent).toContain(TRACE_ID);
    expect(context?.traceparent).toMatch(/-01$/);
  });

  it('has no span for a request without a cause', async () => {
    const tracing = await tracingWith({ ratio: 1, isParentBased: true });
    expect(tracing.requestStarts(REQUEST, []).context).toBeUndefined();
  });

  it('drops and counts spans that end while the queue is full', async () => {
    const tracing = await tracingWith({ ratio: 1, isParentBased: true });
    for (let span = 0; span < 3000; span += 1) tracing.messageStarts(message()).endSpan('finished');
    expect(tracing.spans.dropped).toBeGreaterThan(0);
    await tracing.closeTracing();
    const { exported, failed, dropped } = tracing.spans;
    expect(exported).toBe(0);
    expect(failed + dropped).toBe(3000);
  });
});

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('traceContextOf', () => {
  it('reads the headers of W3C Trace Context', () => {
    const tracestate = 'erp=00f067aa0ba902b7,other=t61rcWkgMzE';
    expect(
      traceContextOf([
        ['ce_id', 'x'],
        ['traceparent', Buffer.from(PARENT)],
        ['tracestate', Buffer.from(tracestate)],
        ['traceparent', 'another'],
      ]),
    ).toEqual({ traceparent: PARENT, tracestate });
  });

  it('reads the known fields of a later version', () => {
    const later = PARENT.replace('00', 'cc');
    for (const traceparent of [later, `${later}-what-else`]) {
      expect(traceContextOf([['traceparent', traceparent]])).toEqual({ traceparent: PARENT });
    }
  });

  it.each([
    null,
    '',
    'x',
    PARENT.toUpperCase(),
    `${PARENT}-more`,
    `${PARENT}\n`,
    PARENT.slice(1),
    PARENT.replace('00-', 'ff-'),
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    'x'.repeat(100_000),
  ])('ignores %j', (traceparent) => {
    expect(traceContextOf([['traceparent', traceparent]])).toBeUndefined();
  });

  it.each(['', 'a=1\r\nx-injected: 1', 'a=\u00e4', `a=${'x'.repeat(512)}`])(
    'leaves out the tracestate %j, which no request could carry',
    (tracestate) => {
      const headers = [
        ['tracestate', Buffer.from(tracestate)],
        ['traceparent', PARENT],
      ] as const;
      expect(traceContextOf(headers)).toEqual({ traceparent: PARENT });
    },
  );

  it('writes back the context that it has read', () => {
    expect(traceHeaders(undefined)).toEqual({});
    for (const context of [{ traceparent: PARENT }, { traceparent: PARENT, tracestate: 'erp=1' }]) {
      expect(traceContextOf(Object.entries(traceHeaders(context)))).toEqual(context);
    }
  });
});
