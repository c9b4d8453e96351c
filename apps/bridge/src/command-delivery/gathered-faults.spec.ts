import { PartitionOwnership } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { rejection, type RejectedResult } from './command-result.js';
import { GatheredFaults } from './gathered-faults.js';

const place = { topic: 'orders', partition: 0, offset: 7, messageId: null };

function answeredUnder(ownership: PartitionOwnership): AnsweredMessage {
  const message = {
    ...{ ...place, timestamp: '0', key: null, value: null, headers: [], bytes: 0, ownership },
    finish: () => undefined,
    doneInPart: () => undefined,
    abandon: () => undefined,
    fail: () => undefined,
  };
  return { message, messageId: null };
}

const answered = answeredUnder(new PartitionOwnership());

function faultOf(machineId: string): RejectedResult {
  const reason = { code: 'rejected-by-service', detail: 'no' } as const;
  return rejection(reason, machineId) as RejectedResult;
}

describe('the faults of one message', () => {
  let letters: (string | null)[][];
  let gathered: GatheredFaults;

  beforeEach(() => {
    letters = [];
    gathered = new GatheredFaults((_, faults) => {
      letters.push(faults.map(({ machineId }) => machineId));
      return Promise.resolve();
    });
  });

  it('that come about together are set aside as one, and those of others apart', async () => {
    const other = { ...place, offset: 8 };
    await Promise.all([
      gathered.add(place, answered, [faultOf('M-1')]),
      gathered.add(other, answered, [faultOf('M-3')]),
      gathered.add(place, answered, [faultOf('M-2')]),
    ]);
    expect(letters).toEqual([['M-1', 'M-2'], ['M-3']]);
  });

  it('that come later are set aside again', async () => {
    await gathered.add(place, answered, [faultOf('M-1')]);
    await gathered.add(place, answered, [faultOf('M-2')]);
    expect(letters).toEqual([['M-1'], ['M-2']]);
  });

  it.each([
    ['as long as one of those who wait has its partition', 1, false],
    ['no longer when all of them have lost it', 2, true],
  ])('are set aside %s', async (_, losses, isGivenUp) => {
    const seen: boolean[] = [];
    gathered = new GatheredFaults((answers, faults, { signal }) => {
      seen.push(signal.aborted);
      return Promise.resolve();
    });
    const ownerships = [new PartitionOwnership(), new PartitionOwnership()];
    const adds = ownerships.map((it) => gathered.add(place, answeredUnder(it), [faultOf('M-1')]));
    for (const each of ownerships.slice(0, losses)) each.lose(new Error('lost'));
    await Promise.all(adds);
    expect(seen).toEqual([isGivenUp]);
  });

  it('may be told for as long as one of those who wait has its partition', async () => {
    const told: string[] = [];
    gathered = new GatheredFaults(async (_, faults, permit) => {
      await permit.stillAllowed();
      told.push(...faults.map(({ machineId }) => String(machineId)));
    });
    const ownerships = [new PartitionOwnership(), new PartitionOwnership()] as const;
    let holdsSession = false;
    for (const { telling } of ownerships) telling.allowWhile(() => holdsSession);
    const adds = ownerships.map((it, at) =>
      gathered.add(place, answeredUnder(it), [faultOf(`M-${at}`)]),
    );
    const [one, other] = ownerships;
    one.lose(new Error('lost'));
    holdsSession = true;
    other.telling.wake();
    await Promise.all(adds);
    expect(told).toEqual(['M-0', 'M-1']);
  });

  it('wait all of them for the message to be set aside, which may fail', async () => {
    gathered = new GatheredFaults(() => Promise.reject(new Error('lost')));
    const adds = [faultOf('M-1'), faultOf('M-2')].map((it) => gathered.add(place, answered, [it]));
    const results = await Promise.allSettled(adds);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
