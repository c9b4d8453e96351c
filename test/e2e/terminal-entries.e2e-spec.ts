import { randomUUID } from 'node:crypto';
import { OUTCOME_TYPES, TOPICS } from '#libs/contracts';
import type { Entry } from '../../apps/terminal/src/index.js';
import { eventually } from '../support/eventually.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { PublishedMachine, RunningTerminal } from '../support/running-terminal.js';
import { json } from '../support/topic-reader.js';

const now = (): number => Math.floor(Date.now() / 1000);
const THREE_DAYS = 3 * 86_400;
const PRODUCE = 0;

describe('entries that a tablet sends late or that Kafka refuses', () => {
  let kafka: TestKafka;
  let relay: KafkaRelay;
  let terminal: RunningTerminal;

  const start = async (): Promise<void> => {
    await new PublishedMachine(kafka, 'M-1').list();
    const env = { KAFKA_BROKERS: relay.address };
    terminal = await RunningTerminal.start(kafka.topicPrefix, env);
    await terminal.ready();
  };

  const post = (path: '/api/reasons' | '/api/notes', records: object[]): Promise<Response> =>
    terminal.request('POST', path, { [path === '/api/notes' ? 'notes' : 'entries']: records });

  /** A reason of three days ago, as of a tablet that was off since then. */
  const oldReason = (age = THREE_DAYS) => {
    const startTime = now() - age;
    const endTime = startTime + 600;
    return { entryId: randomUUID(), machineId: 'M-1', reasonId: '22', startTime, endTime };
  };

  const note = (startTime: number, text: string) => {
    return { noteId: randomUUID(), machineId: 'M-1', startTime, endTime: null, text };
  };

  const codesOf = async (answer: Response): Promise<string[]> => {
    const { results } = (await answer.json()) as { results: { ok: boolean; code?: string }[] };
    return results.map(({ ok, code }) => (ok ? 'ok' : String(code)));
  };

  beforeEach(async () => {
    kafka = new TestKafka(testBrokers(), uniqueTopicPrefix());
    const topics = [
      ...[TOPICS.registry, TOPICS.states, TOPICS.classificationReasons, TOPICS.stateChanges],
      ...[TOPICS.commandOutcomes, TOPICS.downtimeReasons, TOPICS.downtimeNotes],
    ];
    await kafka.topics.createMissing(3, ...topics);
    relay = await KafkaRelay.to(testBrokers()[0]!);
  });

  afterEach(async () => {
    await terminal.close();
    await relay.close();
    await kafka.close().catch(() => undefined);
  });

  it('need one read of the topic, however many arrive at once', async () => {
    await start();
    const first = oldReason();
    expect(await codesOf(await post('/api/reasons', [first]))).toEqual(['ok']);
    const reasons = Array.from({ length: 49 }, (_, index) => oldReason(THREE_DAYS + index * 60));
    // repeated after a 503, as a tablet does
    const { connections } = await eventually('both are taken', async () => {
      const before = relay.connections;
      const posts = await Promise.all([
        post('/api/reasons', [first, ...reasons]),
        post('/api/reasons', reasons),
      ]);
      const isTaken = posts.every(({ status }) => status === 202);
      return isTaken && { connections: relay.connections - before };
    });
    // at most two reads: one for the first request, and the next one for all others
    expect(connections).toBeLessThan(12);
    expect(await kafka.topics.count(TOPICS.downtimeReasons)).toBe(50);
  });

  it('are refused if they are open-ended and the end of their stop is unknown', async () => {
    await start();
    const machine = new PublishedMachine(kafka, 'M-1');
    await machine.enter('OFF', now() - THREE_DAYS + 43_200);
    await machine.enter('OPERATING', now() - 3600);
    await eventually('it runs', async () => {
      const { tile } = await terminal.json('GET', '/api/machines/M-1');
      return (tile as { state: string }).state === 'OPERATING';
    });
    const forgotten = { ...oldReason(), endTime: null };
    const overWeekend = { ...oldReason(THREE_DAYS - 43_200), endTime: null };
    const posted = await post('/api/reasons', [forgotten, overWeekend]);
    expect(await codesOf(posted)).toEqual(['end-unknown', 'ok']);
  });

  it('are written with the end of their stop if that is over, and leave the reasons given since', async () => {
    await start();
    const machine = new PublishedMachine(kafka, 'M-1');
    const [stopped, ran, again] = [3600, 2400, 1200].map((seconds) => now() - seconds);
    await machine.enter('IDLE', stopped!);
    await machine.enter('OPERATING', ran!);
    await machine.enter('IDLE', again!);
    await eventually('it stands again', async () => {
      const { tile } = await terminal.json('GET', '/api/machines/M-1');
      return (tile as { startTime: number }).startTime === again;
    });
    const later = { ...oldReason(), startTime: again!, endTime: null };
    await post('/api/reasons', [later]);
    const waited = { ...oldReason(), reasonId: '23', startTime: stopped!, endTime: null };
    // the answer to the first request was lost
    for (let requests = 0; requests < 2; requests++) {
      expect(await codesOf(await post('/api/reasons', [waited]))).toEqual(['ok']);
    }
    const reasons = await kafka.read(TOPICS.downtimeReasons);
    await eventually('the later one is sent again', () => reasons.records.length === 3);
    expect(reasons.records.map((record) => json(record))).toMatchObject([
      { reasonId: '22', startTime: again },
      { reasonId: '23', startTime: stopped, endTime: ran },
      { reasonId: '22', startTime: again },
    ]);
    const view = await terminal.json('GET', '/api/machines/M-1');
    expect(view['classifications']).toMatchObject([
      { entryId: waited.entryId, startTime: stopped, endTime: ran },
      { startTime: again },
    ]);
  });

  it('are recognised even if their records are older than all restored ones', async () => {
    const reason = oldReason();
    const old = note(now() - THREE_DAYS, 'hose is leaking');
    for (const [topic, id, record] of [
      [TOPICS.downtimeReasons, reason.entryId, reason],
      [TOPICS.downtimeNotes, old.noteId, old],
    ] as const) {
      const timestamp = String((now() - THREE_DAYS + 700) * 1000);
      const headers = { 'message-id': id, ce_source: '/machine-terminal/local' };
      await kafka.send(topic, { key: 'M-1', value: JSON.stringify(record), headers, timestamp });
    }
    await start();
    expect((await post('/api/reasons', [reason])).status).toBe(202);
    expect((await post('/api/notes', [old])).status).toBe(202);
    expect(await kafka.topics.count(TOPICS.downtimeReasons)).toBe(1);
    expect(await kafka.topics.count(TOPICS.downtimeNotes)).toBe(1);
  });

  it('are found by their ids after their machine is removed, with their ends', async () => {
    await start();
    const reason = { ...oldReason(600), endTime: null };
    const posted = await post('/api/reasons', [reason]);
    const { results } = (await posted.json()) as { results: { source: object }[] };
    const { source } = results[0]!;
    const outcome = { machineId: 'M-1', source, code: null, detail: null, appliedAt: now() };
    const headers = { ce_type: OUTCOME_TYPES.downtimeReasonApplied };
    await kafka.sendJson(TOPICS.commandOutcomes, 'M-1', outcome, headers);
    await new PublishedMachine(kafka, 'M-1').enter('OPERATING', now() - 60);
    const path = `/api/entries?ids=${randomUUID()},${reason.entryId}`;
    const answered = async (): Promise<unknown[][]> => {
      const { entries } = (await terminal.json('GET', path)) as { entries: Entry[] };
      return entries.map(({ status, endTime }) => [status, endTime === null]);
    };
    const withItsEnd = [
      ['applied', true],
      ['sent', false],
    ];
    await eventually('it is applied, and ended', async () => {
      expect(await answered()).toEqual(withItsEnd);
      return true;
    });
    for (const topic of [TOPICS.registry, TOPICS.states, TOPICS.classificationReasons]) {
      await kafka.send(topic, { key: 'M-1', value: null });
    }
    await eventually(
      'the machine is gone',
      async () => (await terminal.request('GET', '/api/machines/M-1')).status === 404,
    );
    expect(await answered()).toEqual(withItsEnd);
    expect((await terminal.request('GET', '/api/entries')).status).toBe(400);
  });

  it('are refused if others in the same request have their id', async () => {
    await start();
    const reason = oldReason(600);
    const other = { ...reason, endTime: reason.endTime + 60 };
    const posted = await post('/api/reasons', [reason, other, reason]);
    expect(posted.status).toBe(202);
    expect(await codesOf(posted)).toEqual(['ok', 'entry-id-reused', 'ok']);
    const written = note(now(), 'hose is leaking');
    const notes = [written, { ...written, text: 'hose is tight' }, written];
    expect(await codesOf(await post('/api/notes', notes))).toEqual(['ok', 'entry-id-reused', 'ok']);
  });

  it('are refused one by one if the topic rejects them', async () => {
    await kafka.topics.configure(TOPICS.downtimeNotes, { 'max.message.bytes': '1000' });
    await start();
    // random, so that compression does not shrink it
    const long = Array.from({ length: 50 }, () => randomUUID()).join('');
    const notes = ['short', long, 'short as well'].map((text) => note(now(), text));
    const posted = await post('/api/notes', notes);
    expect(posted.status).toBe(202);
    expect(await codesOf(posted)).toEqual(['ok', 'too-large', 'ok']);
    expect(await kafka.topics.count(TOPICS.downtimeNotes)).toBe(2);
  });

  it('are written as reasons even while Kafka does not acknowledge notes', async () => {
    await start();
    const isOfNotes = (request: Buffer): boolean =>
      request.readInt16BE(4) === PRODUCE && request.includes(TOPICS.downtimeNotes);
    relay.holdBack(isOfNotes);
    expect((await post('/api/notes', [note(now(), 'hose is leaking')])).status).toBe(503);
    expect((await post('/api/reasons', [oldReason(600)])).status).toBe(202);
  });
});
