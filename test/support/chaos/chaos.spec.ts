import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import type { LoggedCall } from '../sandbox-control.js';
import { TopicReader } from '../topic-reader.js';
import { type CommandKind, OPERATION_OF, commandId } from './commands.js';
import { deliveryFaults } from './delivery.js';
import { atMostRepeats, fromCommitted, sameAgain } from './delivery-faults.js';
import { callOf } from './logged-calls.js';
import { overlaps } from './overlaps.js';
import { faultsButForOne } from './but-for-one.js';
import { Answers } from './answers.js';
import { firstUncommitted } from './committed.js';
import { VitalsWatch } from './vitals-watch.js';

const COUNT = 8;
const IN_ORDER = Array.from({ length: COUNT }, (_, number) => number);

/** Successive calls of one machine, each carried out. */
function callsOf(kind: CommandKind, numbers: readonly number[]): LoggedCall[] {
  return numbers.map((number, index) => callOf({ kind, machineId: 'A', number }, index + 1));
}

function faultsOf(kind: CommandKind, numbers: readonly number[], count = COUNT): string[] {
  const other = kind === 'list' ? 'reason' : 'list';
  const sent = { [kind]: new Map([['A', count]]), [other]: new Map() } as Record<
    CommandKind,
    Map<string, number>
  >;
  return deliveryFaults({ sent: (asked) => sent[asked] }, callsOf(kind, numbers));
}

describe('what took effect', () => {
  it.each(['list', 'reason'] as const)('is in order when every %s came as it was sent', (kind) => {
    expect(faultsOf(kind, IN_ORDER)).toEqual([]);
  });

  it('has a fault for every missing reason', () => {
    fc.assert(
      fc.property(fc.nat(COUNT - 1), (lost) => {
        const faults = faultsOf(
          'reason',
          IN_ORDER.filter((number) => number !== lost),
        );
        expect(faults[0]).toBe(`A: reason ${lost} of ${COUNT} is lost`);
      }),
    );
  });

  it.each(['list', 'reason'] as const)('has a fault wherever one %s overtakes another', (kind) => {
    fc.assert(
      fc.property(fc.nat(COUNT - 2), (at) => {
        const swapped = [...IN_ORDER];
        swapped.splice(at, 2, at + 1, at);
        expect(faultsOf(kind, swapped)).not.toEqual([]);
      }),
    );
  });

  it.each(['list', 'reason'] as const)('has a fault when a %s comes twice and may not', (kind) => {
    expect(faultsOf(kind, [0, 1, 1, 2], 3)).toEqual([
      `A: ${kind} 1 (call 3, life 0) after 1 (call 2, life 0)`,
    ]);
  });

  it('may leave out lists that newer ones supersede, but never the last', () => {
    expect(faultsOf('list', [0, 3, 7])).toEqual([]);
    expect(faultsOf('list', [0, 3, 6])).toEqual(['A: list 6 instead of 7']);
    expect(faultsOf('list', [])).toEqual(['A: list undefined instead of 7']);
  });

  it('counts in the order of effect, not of the calls', () => {
    const [first, second] = callsOf('reason', [0, 1]);
    const overtaken = { ...first!, carriedOutAtMs: second!.carriedOutAtMs! + 1 };
    const sent = (kind: CommandKind) => new Map(kind === 'reason' ? [['A', 2]] : []);
    expect(deliveryFaults({ sent }, [overtaken, second!])).not.toEqual([]);
  });

  it('does not include calls that were not carried out', () => {
    const [call] = callsOf('reason', [0]);
    const sent = (kind: CommandKind) => new Map(kind === 'reason' ? [['A', 1]] : []);
    expect(deliveryFaults({ sent }, [{ ...call!, carriedOutAtMs: null }])).toEqual([
      'A: reason 0 of 1 is lost',
    ]);
  });

  it('reads every machine of a call that sets several lists', () => {
    const [call] = callsOf('list', [0]);
    const body = { machines: ['A', 'B'].map((machineId) => ({ machineId, workingOrders: ['0'] })) };
    const several = { ...call!, operation: OPERATION_OF.list, body };
    const sent = (kind: CommandKind) =>
      new Map(
        kind === 'list'
          ? [
              ['A', 1],
              ['B', 2],
            ]
          : [],
      );
    expect(deliveryFaults({ sent }, [several])).toEqual(['B: list 0 instead of 1']);
  });
});

describe('a repetition', () => {
  const repeated = callsOf('reason', [0, 1, 2, 1, 2, 3]);
  const sent = (kind: CommandKind) => new Map(kind === 'reason' ? [['A', 4]] : []);
  const faults = (takeovers: number[], committed: number): string[] =>
    deliveryFaults({ sent }, repeated, {
      takeovers,
      mayRepeat: () => fromCommitted([new Map([['A', committed]])]),
    });

  it('is allowed after a takeover, from what was committed', () => {
    expect(faults([3], 1)).toEqual([]);
    expect(faults([3], 0)).toEqual([]);
  });

  it('is not allowed below what was committed, nor in the middle of a life', () => {
    expect(faults([3], 2)).toEqual(['A: reason 1 (call 4, life 1) after 2 (call 3, life 0)']);
    expect(faults([4], 1)).toEqual(['A: reason 1 (call 4, life 0) after 2 (call 3, life 0)']);
  });

  it('is allowed in the middle of a life that has lost its membership, from what was committed', () => {
    const faultsFrom = (committed: number, takeovers: number[]) =>
      deliveryFaults({ sent }, repeated, {
        takeovers,
        mayRepeat: () => fromCommitted([new Map([['A', committed]])], (life) => life === 1),
      });
    expect(faultsFrom(1, [2])).toEqual([]);
    expect(faultsFrom(2, [2])).toHaveLength(1);
    expect(faultsFrom(0, [4])).toHaveLength(1);
  });

  it('is not allowed for a machine whose commands are all committed', () => {
    const mayRepeat = () => fromCommitted([new Map()]);
    expect(deliveryFaults({ sent }, repeated, { takeovers: [3], mayRepeat })).toHaveLength(1);
  });

  it('must go on in order', () => {
    const skipping = callsOf('reason', [0, 1, 2, 1, 3]);
    const mayRepeat = () => atMostRepeats(1);
    expect(deliveryFaults({ sent }, skipping, { mayRepeat })).toEqual([
      'A: reason 3 (call 5, life 0) after 1 (call 4, life 0)',
    ]);
  });

  it('is allowed right after the original if answers may be lost, and no further back', () => {
    const mayRepeat = () => sameAgain;
    const again = callsOf('reason', [0, 1, 1, 2, 3]);
    expect(deliveryFaults({ sent }, again, { mayRepeat })).toEqual([]);
    expect(deliveryFaults({ sent }, repeated, { mayRepeat })).toEqual([
      'A: reason 1 (call 4, life 0) after 2 (call 3, life 0)',
    ]);
  });

  it('is allowed the given number of times, and no more', () => {
    const twice = callsOf('reason', [0, 0, 0, 1, 2, 3]);
    const faultsWhen = (times: number) =>
      deliveryFaults({ sent }, twice, { mayRepeat: () => atMostRepeats(times) });
    expect(faultsWhen(2)).toEqual([]);
    expect(faultsWhen(1)).toEqual(['A: reason 0 (call 3, life 0) after 0 (call 2, life 0)']);
  });
});

const first = callOf({ kind: 'reason', machineId: 'A', number: 0 }, 1);
const second = callOf({ kind: 'reason', machineId: 'A', number: 1 }, 2);
const found = 'setMachineClassification of A: call 2 began before 1 had ended';

describe('calls under way at once', () => {
  it('are none when each begins after the previous one has ended', () => {
    expect(overlaps([first, second])).toEqual([]);
    expect(overlaps([second, first])).toEqual([]);
  });

  it('are found however short they overlap', () => {
    const early = { ...second, startedAtMs: first.endedAtMs! - 0.01 };
    expect(overlaps([first, early])).toEqual([found]);
  });

  it('are found when shorter ones began later', () => {
    const long = { ...first, endedAtMs: 1000 };
    const third = callOf({ kind: 'reason', machineId: 'A', number: 2 }, 3);
    expect(overlaps([long, second, third])).toHaveLength(2);
  });

  it('are found with a call that never ended', () => {
    expect(overlaps([{ ...first, endedAtMs: null }, second])).toEqual([found]);
  });

  it('are found for each machine of a call that names several', () => {
    const lists = { ...first, operation: 'setWorkOrderList', machineIds: ['A', 'B'] };
    const early = { ...lists, sequence: 2, machineIds: ['B', 'C'] };
    expect(overlaps([lists, early])).toEqual([
      'setWorkOrderList of B: call 2 began before 1 had ended',
    ]);
  });

  it('do not count for different machines or operations', () => {
    const otherMachine = { ...first, sequence: 2, machineIds: ['B'] };
    const otherOperation = { ...first, sequence: 3, operation: 'setWorkOrderList' };
    expect(overlaps([first, otherMachine, otherOperation])).toEqual([]);
  });
});

const calls = [1, 2, 3, 4].map((sequence) =>
  callOf({ kind: 'reason', machineId: 'A', number: sequence }, sequence),
);

/** A check that reports the calls of these sequence numbers. */
const blaming =
  (...sequences: number[]) =>
  (judged: readonly { sequence: number }[]): string[] =>
    judged
      .filter(({ sequence }) => sequences.includes(sequence))
      .map(({ sequence }) => `${sequence}`);

describe('the faults of a test that wakes a process', () => {
  it('are none when one call at its waking causes all', () => {
    expect(faultsButForOne(calls, 2, blaming())).toEqual([]);
    expect(faultsButForOne(calls, 2, blaming(3))).toEqual([]);
    expect(faultsButForOne(calls, 2, blaming(4))).toEqual([]);
  });

  it('remain when two calls cause them', () => {
    expect(faultsButForOne(calls, 2, blaming(3, 4))).toEqual(['3', '4']);
  });

  it('remain when a call before its waking causes them, or one long after', () => {
    expect(faultsButForOne(calls, 2, blaming(2))).toEqual(['2']);
    const late = { ...calls[3]!, startedAtMs: calls[2]!.startedAtMs + 1001 };
    expect(faultsButForOne([...calls.slice(0, 3), late], 2, blaming(4))).toEqual(['4']);
  });
});

const APPLIED = 'work-order-list.applied.v1';
const SUPERSEDED = 'work-order-list.superseded.v1';
const DEFERRED = 'work-order-list.deferred.v1';

describe('the answers to messages', () => {
  let outcomes: TopicReader;
  let answers: Answers;

  beforeEach(() => {
    outcomes = new TopicReader();
    answers = new Answers(outcomes);
  });

  const say = (type: string, messageId: string | null, machineId = 'A', orderId?: string): void => {
    const value = Buffer.from(JSON.stringify({ machineId, orderId, source: { messageId } }));
    const place = { topic: 'outcomes', partition: 0, offset: 0, key: null };
    outcomes.addRecord({ ...place, value, headers: { ce_type: Buffer.from(type) } });
  };

  it('are missing for messages without a final outcome', () => {
    say(APPLIED, 'm-1');
    say(DEFERRED, 'm-2');
    say(APPLIED, null);
    expect(answers.unanswered(['m-1', 'm-2', 'm-3'])).toEqual(['m-2', 'm-3']);
    expect(answers.deferralsOf('m-2')).toBe(1);
    say(APPLIED, 'm-2');
    expect(answers.unanswered(['m-1', 'm-2'])).toEqual([]);
  });

  it('contradict each other when one message and machine has two different outcomes', () => {
    say(APPLIED, 'm-1');
    say(APPLIED, 'm-1');
    say(SUPERSEDED, 'm-1', 'B');
    expect(answers.contradictions()).toEqual([]);
    say(SUPERSEDED, 'm-1');
    expect(answers.contradictions()).toContain(`m-1: ${SUPERSEDED}`);
  });

  it('may differ for two orders of one message and machine', () => {
    say(APPLIED, 'm-1', 'A', 'order-1');
    say(SUPERSEDED, 'm-1', 'A', 'order-2');
    expect(answers.contradictions()).toEqual([]);
    expect(answers.repetitions()).toEqual([]);
  });

  it('are repeated when one machine has the same outcome twice, not when two machines have it', () => {
    say(APPLIED, 'm-1', 'A');
    say(APPLIED, 'm-1', 'B');
    expect(answers.repetitions()).toEqual([]);
    say(APPLIED, 'm-1', 'B');
    expect(answers.repetitions()).toEqual(['m-1: 3 final outcomes']);
  });
});

describe('the first uncommitted command of each machine', () => {
  const input = (kind: CommandKind, machineId: string, number: number, place: [number, number]) => {
    const id = commandId({ kind, machineId, number });
    const [partition, offset] = place;
    const headers = { 'message-id': Buffer.from(id) };
    return { topic: '', partition, offset, key: null, value: null, headers };
  };
  const inputs = [
    input('reason', 'A', 0, [0, 0]),
    input('reason', 'B', 0, [0, 1]),
    input('reason', 'A', 1, [0, 2]),
    input('reason', 'C', 0, [1, 0]),
    input('list', 'A', 0, [0, 0]),
  ];

  it('is at the committed offset of its partition or after it', () => {
    const offsets = { list: new Map(), reason: new Map([[0, 1]]) };
    expect(firstUncommitted(inputs, 'reason', offsets)).toEqual(
      new Map([
        ['B', 0],
        ['A', 1],
        ['C', 0],
      ]),
    );
    expect(firstUncommitted(inputs, 'list', offsets)).toEqual(new Map([['A', 0]]));
  });
});

const BLOCKED_MS = 300;
/** A server that blocks its event loop before each answer, by a call that needs no core. */
const BLOCKING = `
  const server = require('node:http').createServer((_, response) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${BLOCKED_MS});
    response.end();
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
/** The time that the server waited for a core just before a request is subtracted, too. */
const ANSWERS = 5;

describe('VitalsWatch', () => {
  it('sees an event loop that is blocked without using a core', async () => {
    const server = spawn(process.execPath, ['-e', BLOCKING]);
    try {
      const [port] = (await once(server.stdout, 'data')) as [Buffer];
      const vitals = new VitalsWatch(server.pid!, `http://127.0.0.1:${String(port).trim()}`);
      for (let answer = 1; answer < ANSWERS; answer += 1) await vitals.read();
      const { longestMs } = await vitals.read();
      await vitals.stop();
      expect(longestMs).toBeGreaterThan(BLOCKED_MS - 50);
    } finally {
      server.kill();
    }
  });
});
