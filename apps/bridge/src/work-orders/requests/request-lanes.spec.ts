import { KnownAnswers, RequestLanes, type LaneRequest } from './request-lanes.js';

const event = (machineId: string, version?: string): LaneRequest => ({
  ...{ machineId, version, failures: 0, goneSinceMs: undefined, isLost: false },
});

describe('RequestLanes', () => {
  it('keeps the newest of several requests for an order, and returns the others', () => {
    const lanes = new RequestLanes();
    const [first, second, third] = [event('1'), event('1'), event('1')];
    expect(lanes.addRequest(first)).toBeUndefined();
    expect(lanes.addRequest(second)).toBe(first);
    expect(lanes.beginNext(0)).toBe(second);
    expect(lanes.addRequest(third)).toBeUndefined();
    expect(lanes.beginNext(0)).toBeUndefined();
    lanes.endGet(second);
    expect(lanes.beginNext(0)).toBe(third);
    lanes.endGet(third);
    expect(lanes.beginNext(0)).toBeUndefined();
    expect(lanes.waitingOrders + lanes.callsUnderWay).toBe(0);
  });

  it('makes one GET for two requests of a version, but another without a version or if the first is lost', () => {
    const lanes = new RequestLanes();
    lanes.addRequest(event('1', 'v1'));
    lanes.beginNext(0);
    const again = event('1', 'v1');
    expect(lanes.addRequest(again)).toBe(again);
    expect(lanes.addRequest(event('1', 'v2'))).toBeUndefined();
    for (const asked of [{ ...event('1', 'v1'), isLost: true }, event('1')]) {
      const others = new RequestLanes();
      others.addRequest(asked);
      others.beginNext(0);
      expect(others.addRequest(event('1', asked.version))).toBeUndefined();
    }
  });

  it('takes orders in turns, and failed ones when they are due', () => {
    const lanes = new RequestLanes();
    const [first, second, third] = [event('1'), event('2'), event('3')];
    for (const each of [first, second, third]) lanes.addRequest(each);
    expect(lanes.beginNext(0)).toBe(first);
    expect(lanes.postponeGet(first, 100)).toBe(false);
    expect([lanes.beginNext(0), lanes.beginNext(0)]).toEqual([second, third]);
    expect(lanes.beginNext(99)).toBeUndefined();
    expect(lanes.nextDueMs(99)).toBe(100);
    expect(lanes.beginNext(100)).toBe(first);
  });

  it('continues with the newer request after a failed GET, and keeps the count of failures', () => {
    const lanes = new RequestLanes();
    const [older, newer, newest] = [event('1'), event('1'), event('1')];
    lanes.addRequest(older);
    lanes.beginNext(0);
    lanes.addRequest(newer);
    Object.assign(older, { failures: 2, goneSinceMs: 5 });
    expect(lanes.postponeGet(older, 10)).toBe(true);
    expect(lanes.beginNext(9)).toBeUndefined();
    expect(lanes.addRequest(newest)).toBe(newer);
    expect(lanes.beginNext(10)).toBe(newest);
    expect(newest).toMatchObject({ failures: 2, goneSinceMs: 5 });
    // After an answer the next request starts without failures.
    const next = event('1');
    lanes.addRequest(next);
    lanes.endGet(newest);
    expect(lanes.beginNext(10)).toBe(next);
    expect(next).toMatchObject({ failures: 0, goneSinceMs: undefined });
  });

  it('returns unwanted requests, and lets a GET under way end', () => {
    const lanes = new RequestLanes();
    const [asked, waiting, other] = [event('1'), event('1'), event('2')];
    lanes.addRequest(asked);
    lanes.beginNext(0);
    lanes.addRequest(waiting);
    lanes.addRequest(other);
    expect(lanes.removeRequests(() => true)).toEqual([waiting, other]);
    expect(lanes.beginNext(0)).toBeUndefined();
    expect(lanes.callsUnderWay).toBe(1);
    lanes.endGet(asked);
    expect(lanes.waitingOrders + lanes.callsUnderWay).toBe(0);
    lanes.addRequest(other);
    expect(lanes.beginNext(0)).toBe(other);
  });
});

describe('KnownAnswers', () => {
  const known = (version: string, bytes = 10, atMs = 0) => ({
    ...{ version, answer: `answer ${version}`, bytes, atMs },
  });

  it('returns the last answer of an order for its version only', () => {
    const answers = new KnownAnswers<string>();
    answers.set('1', known('v1'));
    expect(answers.get('1', 'v1', 10)).toBe('answer v1');
    expect(answers.get('1', 'v2', 10)).toBeUndefined();
    expect(answers.get('1', undefined, 10)).toBeUndefined();
    answers.set('1', known('v2'));
    expect(answers.get('1', 'v1', 10)).toBeUndefined();
    answers.delete('1');
    expect(answers.get('1', 'v2', 10)).toBeUndefined();
  });

  it('forgets answers after a time, and the oldest if they are too many or too large', () => {
    const answers = new KnownAnswers<string>();
    answers.set('1', known('v1'));
    expect(answers.get('1', 'v1', 300_001)).toBeUndefined();
    for (let order = 0; order <= 1000; order += 1) answers.set(`${order}`, known('v'));
    expect(answers.get('0', 'v', 0)).toBeUndefined();
    expect(answers.get('1', 'v', 0)).toBe('answer v');
    answers.set('large', known('v', 8 * 1024 * 1024 - 5));
    expect(answers.get('1000', 'v', 0)).toBeUndefined();
    expect(answers.get('large', 'v', 0)).toBe('answer v');
    answers.set('larger', known('v', 8 * 1024 * 1024 + 1));
    expect(answers.get('larger', 'v', 0)).toBeUndefined();
    expect(answers.get('large', 'v', 0)).toBe('answer v');
  });
});
