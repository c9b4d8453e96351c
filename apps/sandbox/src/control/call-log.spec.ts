import { CallLog, machineIdsOf } from './call-log.js';

const MIB = 1024 * 1024;

function begin(log: CallLog, bytes: number): number {
  const times = { receivedAt: 0, startedAtMs: 0, endedAtMs: null, carriedOutAtMs: null };
  const what = { operation: 'getMachineInfo', method: 'GET', path: '/', machineIds: [] } as const;
  const rest = { body: null, traceparent: null, status: null, faultId: null };
  return log.logCall({ ...times, ...what, machineIds: [], ...rest }, bytes).sequence;
}

describe('the log of calls', () => {
  it('forgets the oldest calls beyond 100,000', () => {
    const log = new CallLog();
    for (let call = 0; call < 100_002; call += 1) begin(log, 1);
    expect(log.listCalls({ since: 99_999 })).toHaveLength(3);
    expect(log.listCalls()[0]!.sequence).toBe(3);
    expect(log.extent).toEqual({ oldest: 3, newest: 100_002 });
  });

  it('is read in pages', () => {
    const log = new CallLog();
    for (let call = 0; call < 5; call += 1) begin(log, 1);
    const page = (since: number) =>
      log.listCalls({ since, limit: 2 }).map(({ sequence }) => sequence);
    expect([page(0), page(2), page(4), page(5)]).toEqual([[1, 2], [3, 4], [5], []]);
  });

  it('forgets the oldest calls when their bodies come to more than 64 MiB', () => {
    const log = new CallLog();
    for (let call = 0; call < 70; call += 1) begin(log, MIB);
    expect(log.listCalls().map((call) => call.sequence)).toEqual(
      Array.from({ length: 64 }, (_, index) => index + 7),
    );
  });
});

describe('the machines a call names', () => {
  it('are those of its query, its body and the list in its body, each once', () => {
    const body = { machineId: 'B', machines: [{ machineId: 'C' }, { machineId: 'A' }, 7, null] };
    expect(machineIdsOf({ machineId: 'A' }, body)).toEqual(['A', 'B', 'C']);
  });

  it('are none when there is nothing to read them from', () => {
    expect(machineIdsOf(undefined, 'text')).toEqual([]);
  });
});
