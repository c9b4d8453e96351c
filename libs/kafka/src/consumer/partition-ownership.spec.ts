import { PartitionOwnership } from './partition-ownership.js';

describe('PartitionOwnership', () => {
  it('lasts until it is lost, and tells why', () => {
    const ownership = new PartitionOwnership();
    expect(ownership.isLost).toBe(false);
    expect(ownership.signal.aborted).toBe(false);
    ownership.lose(new Error('revoked'));
    expect(ownership.isLost).toBe(true);
    expect(ownership.signal.reason).toEqual(new Error('revoked'));
  });

  it('is lost once', () => {
    const ownership = new PartitionOwnership();
    let calls = 0;
    ownership.whenLost(() => (calls += 1));
    ownership.lose(new Error('revoked'));
    ownership.lose(new Error('the bridge is stopping'));
    expect(calls).toBe(1);
    expect(ownership.signal.reason).toEqual(new Error('revoked'));
  });

  it('tells each listener once, however often it was added, in the order of their coming', () => {
    const ownership = new PartitionOwnership();
    const told: string[] = [];
    const first = (): void => void told.push('first');
    ownership.whenLost(first);
    ownership.whenLost(() => told.push('second'));
    ownership.whenLost(first);
    ownership.lose(new Error('revoked'));
    expect(told).toEqual(['first', 'second']);
  });

  it('is lost already when its listeners and those of its signal are told', () => {
    const ownership = new PartitionOwnership();
    const seen: boolean[] = [];
    ownership.signal.addEventListener('abort', () => seen.push(ownership.isLost));
    ownership.whenLost(() => seen.push(ownership.isLost && ownership.signal.aborted));
    ownership.lose(new Error('revoked'));
    expect(seen).toEqual([true, true]);
  });
});
