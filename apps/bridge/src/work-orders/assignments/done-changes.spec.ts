import { jest } from '@jest/globals';
import { type InboundMessage, type OwnedState, PartedMessages } from '#libs/messaging';
import { messageAt } from '../testing/message-at.js';
import { type StoredAssignment, WATERMARK } from './derive-assignments.js';
import { DoneChanges } from './done-changes.js';

const LOOK_MS = 250;

describe('changes that are done while others of their record are not', () => {
  let stored: Map<string, StoredAssignment>;
  let lost: AbortController;
  let messages: PartedMessages;
  let done: DoneChanges;
  /** How often what is to be noted was written. */
  let written: number;
  /** Whether what becomes of a transaction is not known. */
  let isUnheard: boolean;

  /** Writes what is to be noted, as the partition's next transaction does. */
  const write = (): void => {
    written += 1;
    if (isUnheard) return;
    const changes = done.changes();
    for (const [key, value] of changes) {
      if (value === null) stored.delete(key);
      else stored.set(key, value);
    }
    done.written(changes);
  };

  const state = (): OwnedState<StoredAssignment> => ({
    partition: 0,
    signal: lost.signal,
    lost: lost.signal,
    get: (key) => stored.get(key),
    keys: () => stored.keys(),
    entries: () => stored.entries(),
    commit: () => Promise.reject(new Error('written by the partition')),
  });

  /** Another process, or this one after a restart. */
  const own = (): void => {
    lost = new AbortController();
    messages = new PartedMessages(100);
    done = new DoneChanges(write);
    done.restored(state());
  };

  const take = (offset: number, count: number): InboundMessage[] => {
    done.watch(messages);
    const all = Array.from({ length: count }, (_, index) => index);
    const isDone = (index: number): boolean => done.isDone(offset, index);
    return messages.take(messageAt(offset), all, isDone).map(({ part }) => part);
  };

  const look = (): void => {
    jest.advanceTimersByTime(LOOK_MS);
  };

  const doneOf = (offset: number, count: number): number[] =>
    Array.from({ length: count }, (_, index) => index).filter((each) => done.isDone(offset, each));

  beforeEach(() => {
    jest.useFakeTimers();
    stored = new Map([[WATERMARK, 7]]);
    [written, isUnheard] = [0, false];
    own();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('are noted where it lasts, and not done again by who owns the partition next', () => {
    const parts = take(7, 32);
    for (const index of [0, 30, 31]) parts[index]?.finish();
    look();
    expect(written).toBe(0);
    look();
    expect(written).toBe(1);
    parts[5]?.finish();
    look();
    look();
    expect(written).toBe(2);
    own();
    expect(doneOf(7, 32)).toEqual([0, 5, 30, 31]);
    expect(take(7, 32)).toHaveLength(28);
    expect(doneOf(8, 32)).toEqual([]);
  });

  it('are not noted where the others follow at once', () => {
    const parts = take(7, 2);
    look();
    parts[0]?.finish();
    look();
    parts[1]?.finish();
    look();
    look();
    expect(written).toBe(0);
  });

  it('stay noted where the record goes to another process unfinished, as long as this one can write', () => {
    const [first, other] = take(7, 2);
    first?.finish();
    look();
    look();
    other?.abandon();
    look();
    look();
    expect(doneOf(7, 2)).toEqual([0]);
    expect([...stored.keys()]).toHaveLength(2);
  });

  it('are forgotten once the record has ended, or lies before what is delivered', () => {
    const [first] = take(7, 2);
    first?.finish();
    look();
    look();
    expect([...stored.keys()]).toHaveLength(2);
    own();
    const [other] = take(7, 2);
    other?.finish();
    look();
    expect([...stored.keys()]).toEqual([WATERMARK]);
    stored.set('\u0000done\u00005', 1);
    own();
    take(8, 1);
    look();
    expect([...stored.keys()]).toEqual([WATERMARK]);
  });

  it('are noted again where it is not known whether they were written', () => {
    const [first] = take(7, 2);
    first?.finish();
    isUnheard = true;
    look();
    look();
    done.restored(state());
    isUnheard = false;
    look();
    expect({ written, done: doneOf(7, 2) }).toEqual({ written: 2, done: [0] });
  });

  it('are looked at no more once the partition is lost', () => {
    const [first] = take(7, 2);
    first?.finish();
    look();
    lost.abort(new Error('another process has it'));
    look();
    look();
    expect({ written, timers: jest.getTimerCount() }).toEqual({ written: 0, timers: 0 });
  });
});
