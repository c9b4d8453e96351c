import { traceContextOf, traceHeaders } from './trace-context.js';

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
