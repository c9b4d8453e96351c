import { jest } from '@jest/globals';
import { type KafkaMessage } from '#libs/kafkajs-patches';
import { Restore } from './restore.js';

const never = new AbortController().signal;

function record(key: string | null, value: string | null): KafkaMessage {
  return {
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    timestamp: '0',
    attributes: 0,
    offset: '0',
    headers: {},
  };
}

/** The mark of a restore as the log gives it back. */
function markOf({ mark }: Restore): KafkaMessage {
  return record(String(mark.key), String(mark.value));
}

describe('Restore', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('addresses its mark to the partition it reads', () => {
    expect(new Restore('machine-bridge.states', 4).mark).toMatchObject({
      topic: 'machine-bridge.states',
      partition: 4,
    });
  });

  it('yields the last value of each key before the mark, over as many batches as it takes', async () => {
    const restore = new Restore('topic', 0);
    const first = [record('M-1', '{"n":1}'), record('M-2', '2'), record('M-3', 'null')];
    const second = [record('M-1', '{"n":3}'), record('M-2', null)];
    expect(restore.acceptRecords(first)).toBe(true);
    expect(restore.acceptRecords(second)).toBe(true);
    expect(restore.acceptRecords([markOf(restore)])).toBe(false);
    await expect(restore.finished(never)).resolves.toEqual(
      new Map([
        ['M-1', '{"n":3}'],
        ['M-3', 'null'],
      ]),
    );
  });

  it('takes nothing that comes after the mark: it is the echo of what the new owner writes', async () => {
    const restore = new Restore('topic', 0);
    expect(restore.acceptRecords([record('M-1', '1'), markOf(restore), record('M-1', '2')])).toBe(
      false,
    );
    expect(restore.acceptRecords([record('M-1', '3')])).toBe(false);
    await expect(restore.finished(never)).resolves.toEqual(new Map([['M-1', '1']]));
  });

  it('reads past the marks of earlier restores', async () => {
    const restore = new Restore('topic', 0);
    const earlier = markOf(new Restore('topic', 0));
    expect(restore.acceptRecords([earlier, record('M-1', '1')])).toBe(true);
    expect(restore.acceptRecords([markOf(restore)])).toBe(false);
    await expect(restore.finished(never)).resolves.toEqual(new Map([['M-1', '1']]));
  });

  it('skips what has no key', async () => {
    const restore = new Restore('topic', 0);
    restore.acceptRecords([record(null, '2'), markOf(restore)]);
    await expect(restore.finished(never)).resolves.toEqual(new Map());
  });

  it('is not finished before the mark has come', async () => {
    const restore = new Restore('topic', 0);
    const log: string[] = [];
    const finished = restore.finished(never).then(() => log.push('finished'));
    restore.acceptRecords([record('M-1', '1')]);
    await new Promise((resolve) => setImmediate(resolve));
    log.push('mark comes');
    restore.acceptRecords([markOf(restore)]);
    await finished;
    expect(log).toEqual(['mark comes', 'finished']);
  });

  it('ends with the reason of its signal when that aborts first', async () => {
    const controller = new AbortController();
    const finished = new Restore('topic', 0).finished(controller.signal);
    controller.abort(new Error('no longer owned'));
    await expect(finished).rejects.toThrow('no longer owned');
    await expect(new Restore('topic', 0).finished(controller.signal)).rejects.toThrow(
      'no longer owned',
    );
  });

  it('fails once nothing has come for 30 s, and takes nothing more', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    const restore = new Restore('counts', 4);
    const finished = restore.finished(never);
    jest.advanceTimersByTime(25_000);
    expect(restore.acceptRecords([record('M-1', '1')])).toBe(true);
    jest.advanceTimersByTime(29_000);
    expect(restore.acceptRecords([record('M-2', '2')])).toBe(true);
    jest.advanceTimersByTime(31_000);
    await expect(finished).rejects.toThrow(
      'Kafka says nothing more since 30 s: counts, partition 4',
    );
    expect(restore.acceptRecords([markOf(restore)])).toBe(false);
  });
});
