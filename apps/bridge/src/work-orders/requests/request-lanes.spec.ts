import { KnownAnswers, RequestLanes, type Waiting } from './request-lanes.js';

const event = (machineId: string, version?: string): Waiting => ({
  ...{ machineId, version, failures: 0, goneSinceMs: undefined },
});

describe('RequestLanes', () => {
  it('keeps the newest of several requests for an order, and returns the others', () => {
    const lanes = new RequestLanes();
    const [first, second, third] = [event('1'), event('1'), event('1')];
    expect(lanes.add(first)).toBeUndefined();
    expect(lanes.add(second)).toBe(first);
    expect(lanes.take(0)).toBe(second);
    expect(lanes.add(third)).toBeUndefined();
    expect(lanes.take(0)).toBeUndefined();
    lanes.answered(second);
    expect(lanes.take(0)).toBe(third);
    lanes.answered(third);
    expect(lanes.take(0)).toBeUndefined();
    expect(lanes.waiting + lanes.callsUnderWay).toBe(0);
  });

  it('makes one GET for two requests of a version, but another without a version or if the first is lost', () => {
    const lanes = new RequestLanes();
    lanes.add(event('1', 'v1'));
    lanes.take(0);
    const again = event('1', 'v1');
    expect(lanes.add(again)).toBe(again);
    expect(lanes.add(event('1', 'v2'))).toBeUndefined();
    for (const asked of [{ ...event('1', 'v1'), isLost: true }, event('1')]) {
      const others = new RequestLanes();
      others.add(asked);
      others.take(0);
      expect(others.add(event('1', asked.version))).toBeUndefined();
    }
  });

  it('takes orders in turns, and failed ones when they are due', () => {
    const lanes = new RequestLanes();
    const [first, second, third] = [event('1'), event('2'), event('3')];
    for (const each of [first, second, third]) lanes.add(each);
    expect(lanes.take(0)).toBe(first);
    expect(lanes.postpone(first, 100)).toBe(false);
    expect([lanes.take(0), lanes.take(0)]).toEqual([second, third]);
    expect(lanes.take(99)).toBeUndefined();
    expect(lanes.nextDueMs(99)).toBe(100);
    expect(lanes.take(100)).toBe(first);
  });

  it('continues with the newer request after a failed GET, and keeps the count of failures', () => {
    const lanes = new RequestLanes();
    const [older, newer, newest] = [event('1'), event('1'), event('1')];
    lanes.add(older);
    lanes.take(0);
    lanes.add(newer);
    Object.assign(older, { failures: 2, goneSinceMs: 5 });
    expect(lanes.postpone(older, 10)).toBe(true);
    expect(lanes.take(9)).toBeUndefined();
    expect(lanes.add(newest)).toBe(newer);
    expect(lanes.take(10)).toBe(newest);
    expect(newest).toMatchObject({ failures: 2, goneSinceMs: 5 });
    // After an answer the next request starts without failures.
    const next = event('1');
    lanes.add(next);
    lanes.answered(newest);
    expect(lanes.take(10)).toBe(next);
    expect(next).toMatchObject({ failures: 0, goneSinceMs: undefined });
  });

  it('returns unwanted requests, and lets a GET under way end', () => {
    const lanes = new RequestLanes();
    const [asked, waiting, other] = [event('1'), event('1'), event('2')];
    lanes.add(asked);
    lanes.take(0);
    lanes.add(waiting);
    lanes.add(other);
    expect(lanes.drop(() => true)).toEqual([waiting, other]);
    expect(lanes.take(0)).toBeUndefined();
    expect(lanes.callsUnderWay).toBe(1);
    lanes.answered(asked);
    expect(lanes.waiting + lanes.callsUnderWay).toBe(0);
    lanes.add(other);
    expect(lanes.take(0)).toBe(other);
  });
});

describe('KnownAnswers', () => {
  const known = (version: string, bytes = 10, atMs = 0) => ({
    ...{ version, answer: `answer ${version}`, bytes, atMs },
  });

  it('returns the last answer of an order for its version only', () => {
    const answers = new KnownAnswers<string>();
    answers.put('1', known('v1'));
    expect(answers.get('1', 'v1', 10)).toBe('answer v1');
    expect(answers.get('1', 'v2', 10)).toBeUndefined();
    expect(answers.get('1', undefined, 10)).toBeUndefined();
    answers.put('1', known('v2'));
    expect(answers.get('1', 'v1', 10)).toBeUndefined();
    answers.forget('1');
    expect(answers.get('1', 'v2', 10)).toBeUndefined();
  });

  it('forgets answers after a time, and the oldest if they are too many or too large', () => {
    const answers = new KnownAnswers<string>();
    answers.put('1', known('v1'));
    expect(answers.get('1', 'v1', 300_001)).toBeUndefined();
    for (let order = 0; order <= 1000; order += 1) answers.put(`${order}`, known('v'));
    expect(answers.get('0', 'v', 0)).toBeUndefined();
    expect(answers.get('1', 'v', 0)).toBe('answer v');
    answers.put('large', known('v', 8 * 1024 * 1024 - 5));
    expect(answers.get('1000', 'v', 0)).toBeUndefined();
    expect(answers.get('large', 'v', 0)).toBe('answer v');
    answers.put('larger', known('v', 8 * 1024 * 1024 + 1));
    expect(answers.get('larger', 'v', 0)).toBeUndefined();
    expect(answers.get('large', 'v', 0)).toBe('answer v');
  });
});
