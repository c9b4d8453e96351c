import { randomUUID } from 'node:crypto';
import { OUTCOME_TYPES, TOPICS } from '#libs/contracts';
import type { Entry, Session } from '../../apps/terminal/src/index.js';
import { eventually } from '../support/eventually.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type LiveEvent, PublishedMachine, RunningTerminal } from '../support/running-terminal.js';
import { header, json, type ReadRecord } from '../support/topic-reader.js';

const now = (): number => Math.floor(Date.now() / 1000);
const HALF_AN_HOUR = 1800;

describe('the terminal', () => {
  let kafka: TestKafka;
  let terminals: RunningTerminal[] = [];

  const start = async (env = {}): Promise<RunningTerminal> => {
    const terminal = await RunningTerminal.start(kafka.topicPrefix, env);
    terminals.push(terminal);
    return terminal.ready();
  };

  const restart = async (terminal: RunningTerminal): Promise<RunningTerminal> => {
    terminals = terminals.filter((each) => each !== terminal);
    await terminal.close();
    return start();
  };

  /** A reason for a machine that has been idle for half an hour. */
  const stoppedMachine = async (machineId = 'M-1'): Promise<PublishedMachine> => {
    const machine = new PublishedMachine(kafka, machineId);
    await machine.list();
    await machine.enter('OPERATING', now() - 2 * HALF_AN_HOUR);
    await machine.enter('IDLE', now() - HALF_AN_HOUR);
    return machine;
  };

  const reasonOf = (machineId = 'M-1') => ({
    entryId: randomUUID(),
    ...{ machineId, reasonId: '22', startTime: now() - HALF_AN_HOUR, endTime: null },
  });

  const post = (terminal: RunningTerminal, ...entries: object[]): Promise<Response> =>
    terminal.request('POST', '/api/reasons', { entries });

  const reasonsOnTopic = async (count: number): Promise<ReadRecord[]> => {
    const reader = await kafka.read(TOPICS.downtimeReasons);
    return eventually(
      `${count} reasons on the topic`,
      () => reader.records.length >= count && [...reader.records],
    );
  };

  const answer = (record: ReadRecord, type: string, more: object = {}): Promise<void> =>
    kafka.sendJson(
      TOPICS.commandOutcomes,
      'M-1',
      {
        machineId: 'M-1',
        source: {
          topic: kafka.topicPrefix + TOPICS.downtimeReasons,
          ...{ partition: record.partition, offset: record.offset, messageId: null },
        },
        ...{ code: null, detail: null, attempts: 1, appliedAt: null, ...more },
      },
      { ce_type: type },
    );

  const tileOf = (event: LiveEvent | undefined, machineId = 'M-1') =>
    (event?.data['tiles'] as Record<string, unknown>[] | undefined)?.find(
      (tile) => tile['machineId'] === machineId,
    );

  beforeEach(async () => {
    kafka = new TestKafka(testBrokers(), uniqueTopicPrefix());
    const topics = [
      ...[TOPICS.registry, TOPICS.states, TOPICS.classificationReasons, TOPICS.stateChanges],
      ...[TOPICS.commandOutcomes, TOPICS.downtimeReasons, TOPICS.downtimeNotes],
    ];
    await kafka.topics.createMissing(3, ...topics);
  });

  afterEach(async () => {
    await Promise.all(terminals.splice(0).map((terminal) => terminal.close()));
    await kafka.close().catch(() => undefined);
  });

  it('shows a stop, accepts its reason, and shows the outcome', async () => {
    const terminal = await start();
    const events = await terminal.follow();
    await stoppedMachine();
    const latest = () => events.map((event) => tileOf(event)).findLast((each) => each);
    // the topics arrive one after the other
    await eventually('the stop', () => {
      const { state, startTime, openStops } = latest() ?? {};
      const stop = { startTime, endTime: null, state: 'IDLE' };
      expect({ state, openStops }).toEqual({ state: 'IDLE', openStops: [stop] });
      return true;
    });
    await eventually('its reasons', () => events.some(({ type }) => type === 'reasons'));
    await terminal.request('PUT', '/api/session/operator', { operator: 'Jürgen' });
    const entry = reasonOf();
    const posted = await post(terminal, entry);
    expect(posted.status).toBe(202);
    const [record] = await reasonsOnTopic(1);
    const { topic, partition, offset } = record!;
    expect(await posted.json()).toEqual({
      results: [
        {
          ...{ entryId: entry.entryId, ok: true },
          source: { topic: kafka.topicPrefix + topic, partition, offset: String(offset) },
        },
      ],
    });
    expect(record!.key?.toString()).toBe('M-1');
    expect(header(record!, 'message-id')).toBe(entry.entryId);
    expect(header(record!, 'ce_source')).toBe('/machine-terminal/local');
    expect(header(record!, 'operator')).toBe('Jürgen');
    const { machineId, reasonId, startTime } = entry;
    expect(json(record!)).toEqual({ machineId, reasonId, startTime });
    await answer(record!, OUTCOME_TYPES.downtimeReasonApplied, { appliedAt: now() });
    const applied = await eventually('it is applied', () =>
      events.find(({ type, data }) => type === 'entry' && statusOf(data) === 'applied'),
    );
    expect(applied.data).toMatchObject({
      machineId: 'M-1',
      entry: { entryId: entry.entryId, station: 'local', operator: 'Jürgen', reasonId: '22' },
    });
    await eventually('the stop is explained', () => {
      const { openStops, goingOn } = latest() ?? {};
      return (openStops as unknown[]).length === 0 && goingOn !== null;
    });
  });

  it('records who entered a reason and when, whoever is registered when it is sent', async () => {
    await stoppedMachine();
    const terminal = await start();
    await terminal.request('PUT', '/api/session/operator', { operator: 'B. Schmidt' });
    const madeAt = now() - 900;
    const entries = [
      { ...reasonOf(), operator: 'A. Kowalski', madeAt },
      { ...reasonOf(), operator: null, madeAt: now() + 86_400 },
      reasonOf(),
    ];
    expect((await post(terminal, ...entries)).status).toBe(202);
    const records = await reasonsOnTopic(3);
    const of = (index: number, name: string): string | undefined =>
      header(
        records.find((record) => header(record, 'message-id') === entries[index]!.entryId)!,
        name,
      );
    expect([0, 1, 2].map((index) => of(index, 'operator'))).toEqual([
      'A. Kowalski',
      undefined,
      'B. Schmidt',
    ]);
    const time = (index: number): number => Date.parse(of(index, 'ce_time') ?? '') / 1000;
    expect(time(0)).toBe(madeAt);
    expect(time(1)).toBeLessThanOrEqual(now());
    const note = { noteId: randomUUID(), machineId: 'M-1', startTime: madeAt, endTime: null };
    const notes = [{ ...note, text: 'hose is leaking', operator: 'A. Kowalski', madeAt }];
    expect((await terminal.request('POST', '/api/notes', { notes })).status).toBe(202);
    const view = await eventually('the note', async () => {
      const machine = await terminal.json('GET', '/api/machines/M-1');
      return (machine['notes'] as unknown[]).length > 0 && machine;
    });
    expect(view['notes']).toMatchObject([{ operator: 'A. Kowalski', at: madeAt }]);
    for (const operator of ['', 'x'.repeat(101), 'A\u0007', 7]) {
      expect((await post(terminal, { ...reasonOf(), operator })).status).toBe(400);
    }
  });

  it('trusts a proxy that names operators about who entered a reason', async () => {
    await stoppedMachine();
    const terminal = await start({ TERMINAL_TRUSTED_USER_HEADER: 'x-station,x-operator' });
    const body = { entries: [{ ...reasonOf(), operator: 'Somebody else' }] };
    const headers = { 'x-station': 'Hall 2', 'x-operator': 'Anna' };
    const posted = await terminal.request('POST', '/api/reasons', body, headers);
    expect(posted.status).toBe(202);
    const [record] = await reasonsOnTopic(1);
    expect(header(record!, 'operator')).toBe('Anna');
  });

  it('shows why a reason was rejected, and requests it again', async () => {
    await stoppedMachine();
    const terminal = await start();
    await post(terminal, reasonOf());
    const [record] = await reasonsOnTopic(1);
    const why = { code: 'rejected-by-service', detail: 'no such shift' };
    await answer(record!, OUTCOME_TYPES.downtimeReasonRejected, why);
    const view = await eventually('it is rejected', async () => {
      const machine = await terminal.json('GET', '/api/machines/M-1');
      const [entry] = machine['entries'] as Record<string, unknown>[];
      return entry?.['status'] === 'rejected' && machine;
    });
    expect((view['entries'] as unknown[])[0]).toMatchObject(why);
    expect(view['tile']).toMatchObject({ openStops: [{ state: 'IDLE', endTime: null }] });
    expect(view['favourites']).toEqual([]);
    expect(view['reasons']).toEqual([
      { name: 'Cooling', code: '22' },
      { name: 'Tool change', code: '23' },
    ]);
    expect(view).toHaveProperty('settledUntil');
  });

  it('writes a reason once, however often it is sent: at once, in turn, and after a restart', async () => {
    await stoppedMachine();
    let terminal = await start();
    const entry = reasonOf();
    const answers = await Promise.all([1, 2, 3].map(() => post(terminal, entry)));
    const bodies = await Promise.all(answers.map((each) => each.json()));
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    terminal = await restart(terminal);
    const again = await post(terminal, entry);
    expect([again.status, await again.json()]).toEqual([202, bodies[0]]);
    const other = await post(terminal, { ...entry, reasonId: '23' });
    expect([other.status, await other.json()]).toMatchObject([422, { code: 'entry-id-reused' }]);
    expect(await kafka.topics.count(TOPICS.downtimeReasons)).toBe(1);
  });

  it('ends an open reason once when its machine runs again, with several terminals and restarts', async () => {
    const machine = await stoppedMachine();
    const first = await start();
    const beside = await start();
    const entry = reasonOf();
    await post(first, entry);
    const runsAgain = now() - 60;
    await machine.enter('OPERATING', runsAgain);
    const records = await reasonsOnTopic(2);
    expect(json(records[1]!)).toMatchObject({ startTime: entry.startTime, endTime: runsAgain });
    await restart(first);
    await restart(beside);
    const endings = (await reasonsOnTopic(2)).slice(1);
    expect(new Set(endings.map((record) => header(record, 'message-id'))).size).toBe(1);
    expect(endings.length).toBeLessThanOrEqual(2);
  });

  it('ends a reason whose machine ran again while no terminal was running', async () => {
    const machine = await stoppedMachine();
    const terminal = await start();
    await post(terminal, reasonOf());
    terminals = [];
    await terminal.close();
    await machine.enter('OPERATING', now() - 60);
    await start();
    const records = await reasonsOnTopic(2);
    expect(json(records[1]!)['endTime']).toBeDefined();
  });

  it('ends a reason once after a revision removes its stop', async () => {
    const machine = new PublishedMachine(kafka, 'M-1');
    await machine.list();
    const ran = now() - 2 * HALF_AN_HOUR;
    await machine.enter('OPERATING', ran);
    const entry = reasonOf();
    const stop = await machine.enter('IDLE', entry.startTime);
    const terminal = await start();
    await post(terminal, entry);
    await machine.revise(stop, 'OPERATING', ran);
    const [, ending] = await reasonsOnTopic(2);
    const endTime = entry.startTime + 60;
    expect(json(ending!)).toMatchObject({ startTime: entry.startTime, endTime });
    await machine.enter('IDLE', now() - 120);
    await restart(terminal);
    expect(await kafka.topics.count(TOPICS.downtimeReasons)).toBe(2);
  });

  it('repeats an open reason that the reason for an earlier stop has ended', async () => {
    const machine = new PublishedMachine(kafka, 'M-1');
    await machine.list();
    await machine.enter('IDLE', now() - 4 * HALF_AN_HOUR);
    await machine.enter('OPERATING', now() - 3 * HALF_AN_HOUR);
    await machine.enter('IDLE', now() - HALF_AN_HOUR);
    const terminal = await start();
    const open = { ...reasonOf(), startTime: now() - HALF_AN_HOUR };
    await post(terminal, open);
    const startTime = now() - 4 * HALF_AN_HOUR;
    const earlier = { ...reasonOf(), reasonId: '23', startTime, endTime: startTime + HALF_AN_HOUR };
    await post(terminal, earlier);
    const records = await reasonsOnTopic(3);
    expect(records.map((record) => json(record)['reasonId'])).toEqual(['22', '23', '22']);
    expect(json(records[2]!)).toEqual(json(records[0]!));
    expect(header(records[2]!, 'message-id')).not.toBe(open.entryId);
    await restart(terminal);
    expect(await kafka.topics.count(TOPICS.downtimeReasons)).toBe(3);
  });

  it('leaves reasons of other producers as they are', async () => {
    const machine = await stoppedMachine();
    const terminal = await start();
    const { machineId, reasonId, startTime } = reasonOf();
    await kafka.sendJson(TOPICS.downtimeReasons, 'M-1', { machineId, reasonId, startTime });
    await machine.enter('OPERATING', now() - 60);
    const events = await terminal.follow();
    await eventually('it runs again', () =>
      events.some((event) => tileOf(event)?.['state'] === 'OPERATING'),
    );
    // after any record that the terminal would have written itself
    await post(terminal, { ...reasonOf(), endTime: now() - 900 });
    expect(await kafka.topics.count(TOPICS.downtimeReasons)).toBe(2);
  });

  it('ignores records that are invalid for their topic, before and after its start', async () => {
    await stoppedMachine();
    const strayRecords = async (): Promise<void> => {
      const headers = { ce_type: OUTCOME_TYPES.downtimeReasonApplied };
      await kafka.sendJson(TOPICS.commandOutcomes, 'M-1', {}, headers);
      await kafka.sendJson(TOPICS.classificationReasons, 'M-2', { reasons: 'none' });
      for (const at of ['today', 1e18]) {
        await kafka.sendJson(TOPICS.downtimeNotes, 'M-1', { text: 'hose is leaking', at });
      }
    };
    await strayRecords();
    const terminal = await start();
    const events = await terminal.follow();
    await strayRecords();
    await stoppedMachine('M-3');
    await eventually('a machine that came behind them', () =>
      events.some((event) => tileOf(event, 'M-3') !== undefined),
    );
    expect((await terminal.request('GET', '/health/ready')).status).toBe(200);
    expect(await terminal.json('GET', '/api/machines/M-1')).toMatchObject({ notes: [] });
  });

  it('shows a reason whose timestamp is out of range', async () => {
    const aheadOfTime = { 'message.timestamp.after.max.ms': '9223372036854775807' };
    await kafka.topics.configure(TOPICS.downtimeReasons, aheadOfTime);
    await stoppedMachine();
    const terminal = await start();
    const { machineId, reasonId, startTime } = reasonOf();
    const reason = { machineId, reasonId, startTime, endTime: startTime + 600 };
    // as from a producer that counts nanoseconds
    const timestamp = `${Date.now()}000000`;
    const record = { key: machineId, value: JSON.stringify(reason), timestamp };
    await kafka.send(TOPICS.downtimeReasons, record);
    await eventually('it is shown', async () => {
      const { entries } = await terminal.json('GET', `/api/machines/${machineId}`);
      return (entries as Entry[] | undefined)?.some(({ sentAt }) => sentAt <= now());
    });
  });

  it('refuses a reason for time in which the machine operated, unless it is confirmed', async () => {
    await stoppedMachine();
    const terminal = await start();
    const entry = { ...reasonOf(), startTime: now() - HALF_AN_HOUR - 600, endTime: now() - 900 };
    const refused = await post(terminal, entry);
    expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'over-operating' }]);
    expect((await post(terminal, { ...entry, overOperating: true })).status).toBe(202);
  });

  it('answers entries one by one, each with its fault', async () => {
    await stoppedMachine();
    const terminal = await start();
    const entries = [
      reasonOf(),
      { ...reasonOf(), machineId: 'M-9' },
      { ...reasonOf(), reasonId: 'coffee' },
      { ...reasonOf(), endTime: now() - 86_400 },
      { ...reasonOf(), startTime: now() + 3600 },
    ];
    const posted = await post(terminal, ...entries);
    const { results } = (await posted.json()) as { results: { ok: boolean; code?: string }[] };
    expect(posted.status).toBe(202);
    expect(results.map(({ ok, code }) => (ok ? 'ok' : code))).toEqual([
      ...['ok', 'unknown-machine', 'unknown-reason', 'start-after-end', 'start-in-future'],
    ]);
    expect((await post(terminal, { ...reasonOf(), entryId: '1' })).status).toBe(400);
    expect((await terminal.request('POST', '/api/reasons', '{"entries":')).status).toBe(400);
    const large = { entries: [{ ...reasonOf(), more: 'x'.repeat(70_000) }] };
    expect((await terminal.request('POST', '/api/reasons', large)).status).toBe(413);
    const form = await terminal.request('POST', '/api/reasons', 'a=b', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(form.status).toBe(415);
  });

  it('refuses a query that it cannot read', async () => {
    const terminal = await start();
    const twice = 'factoryId=F-1&factoryId=F-2';
    for (const [path, message] of [
      ['hand-over?shift=0x1', 'shift must be 0 or 1'],
      ['hand-over?shift=2', 'shift must be 0 or 1'],
      [`hand-over?${twice}`, 'factoryId may be given once only'],
      [`reasons?${twice}`, 'factoryId may be given once only'],
      [`events?${twice}`, 'factoryId may be given once only'],
    ]) {
      const answer = await terminal.request('GET', `/api/${path}`);
      const { status } = answer;
      expect([path, status]).toEqual([path, 400]);
      expect(await answer.json()).toEqual({ code: 'invalid-request', message });
    }
  });

  it('keeps notes with their authors, and never sends them to the service', async () => {
    await stoppedMachine();
    const terminal = await start();
    const events = await terminal.follow();
    await terminal.request('PUT', '/api/session/operator', { operator: 'Anna' });
    const note = { noteId: randomUUID(), machineId: 'M-1', startTime: now(), endTime: null };
    const body = { notes: [{ ...note, text: 'hose is leaking' }] };
    expect((await terminal.request('POST', '/api/notes', body)).status).toBe(202);
    const live = await eventually('the note', () => events.find(({ type }) => type === 'note'));
    expect(live.data).toMatchObject({
      machineId: 'M-1',
      note: { ...note, text: 'hose is leaking', operator: 'Anna', station: 'local' },
    });
    expect((await terminal.request('POST', '/api/notes', body)).status).toBe(202);
    const handOver = await terminal.json('GET', '/api/hand-over?shift=0');
    expect(JSON.stringify(handOver['machines'])).toContain('hose is leaking');
    expect(await kafka.topics.count(TOPICS.downtimeNotes)).toBe(1);
  });

  it('sends a returning page the missed events, and an unknown page everything', async () => {
    const machine = await stoppedMachine();
    const terminal = await start();
    const events = await terminal.follow();
    const snapshot = await eventually('everything', () =>
      events.find(({ type }) => type === 'snapshot'),
    );
    expect(tileOf(snapshot)).toMatchObject({ state: 'IDLE', displayName: 'Machine M-1' });
    expect(snapshot.data).toMatchObject({ kafka: { state: 'up' }, session: { station: 'local' } });
    await machine.enter('OPERATING', now() - 120);
    const back = await terminal.follow('/api/events', snapshot.id);
    await eventually('what was missed', () =>
      back.some((event) => tileOf(event)?.['state'] === 'OPERATING'),
    );
    expect(back.map(({ type }) => type)).not.toContain('snapshot');
    const unknown = await terminal.follow('/api/events', 'another-7');
    await eventually('everything anew', () => unknown[0]?.type === 'snapshot');
  });

  it('sends a page of one factory only that factory', async () => {
    const terminal = await start();
    const events = await terminal.follow('/api/events?factoryId=F-2');
    await stoppedMachine();
    const other = new PublishedMachine(kafka, 'M-2', 'F-2');
    await other.list();
    await eventually('its machine', () =>
      events.some((event) => tileOf(event, 'M-2') !== undefined),
    );
    expect(events.every((event) => tileOf(event, 'M-1') === undefined)).toBe(true);
    // published separately from the machine
    const reasons = await eventually('its reasons', async () => {
      const answer = await terminal.json('GET', '/api/reasons?factoryId=F-2');
      return (answer as { lists: unknown[][] }).lists[0]?.length === 2 && answer;
    });
    expect(reasons).toEqual({
      lists: [
        [
          { code: '22', name: 'Cooling' },
          { code: '23', name: 'Tool change' },
        ],
      ],
      machines: { 'M-2': { list: 0, favourites: [] } },
    });
  });

  it('sends pages a new factory before its first machine', async () => {
    await stoppedMachine();
    const terminal = await start();
    const events = await terminal.follow();
    await eventually('a snapshot with the machine', () => tileOf(events[0]));
    await new PublishedMachine(kafka, 'M-2', 'F-2').list();
    await eventually('its machine', () =>
      events.some((event) => tileOf(event, 'M-2') !== undefined),
    );
    const told = events.slice(
      0,
      events.findIndex((event) => tileOf(event, 'M-2') !== undefined),
    );
    const { session } = told.findLast(({ type }) => type === 'session')?.data ?? {};
    expect((session as Session | undefined)?.factories).toEqual([
      { factoryId: 'F-1', factoryName: 'Factory F-1' },
      { factoryId: 'F-2', factoryName: 'Factory F-2' },
    ]);
  });

  it('removes a machine from the pages of a factory that it has left', async () => {
    await stoppedMachine();
    const terminal = await start();
    const events = await terminal.follow('/api/events?factoryId=F-1');
    await eventually('a snapshot with the machine', () => tileOf(events[0]));
    await new PublishedMachine(kafka, 'M-1', 'F-2').list();
    const isGone = ({ data }: LiveEvent) => (data['gone'] as string[] | undefined)?.includes('M-1');
    await eventually('it is gone', () => events.some(isGone));
  });

  it('sends pages reasons once when it first reads them, and once when they change', async () => {
    const terminal = await start();
    const [all, other] = [
      await terminal.follow(),
      await terminal.follow('/api/events?factoryId=F-2'),
    ];
    const reasonsIn = (events: LiveEvent[]) => events.filter(({ type }) => type === 'reasons');
    const machine = new PublishedMachine(kafka, 'M-1');
    await machine.list();
    const first = await eventually('reasons read first', () => reasonsIn(all)[0]);
    expect(first.data['machines']).toEqual({ 'M-1': { list: 0, favourites: [] } });
    const reasons = [{ code: '22', name: 'Cooling water' }];
    const listed = JSON.stringify([reasons]);
    for (const updatedAt of [2, 3]) {
      const record = { machineId: 'M-1', reasons, updatedAt };
      await kafka.sendJson(TOPICS.classificationReasons, 'M-1', record);
    }
    await eventually('the reasons that changed', () =>
      reasonsIn(all).some(({ data }) => JSON.stringify(data['lists']) === listed),
    );
    // later records are sent later
    await machine.enter('IDLE', now() - 60);
    await eventually('the state', () => all.some((event) => tileOf(event)?.['state'] === 'IDLE'));
    expect(reasonsIn(all)).toHaveLength(2);
    expect(reasonsIn(other)).toEqual([]);
  });

  it('has the reasons of every machine, whatever its id', async () => {
    const terminal = await start();
    for (const id of ['M-1', '__proto__']) await new PublishedMachine(kafka, id).list();
    await eventually('the reasons of both', async () => {
      const { machines } = await terminal.json('GET', '/api/reasons');
      return Object.keys(machines as object).length === 2;
    });
  });

  it('shows nothing of the plant before it has read its topics, then all, even to a returning page', async () => {
    await stoppedMachine();
    const relay = await KafkaRelay.to(testBrokers()[0]!);
    relay.holdBack(isFetch);
    try {
      const terminal = await RunningTerminal.start(kafka.topicPrefix, {
        KAFKA_BROKERS: relay.address,
      });
      terminals.push(terminal);
      const events = await terminal.follow();
      const [first] = await eventually('an event', () => events.length > 0 && events);
      expect([first!.type, linkOf(first!.data)]).toEqual(['link', 'restoring']);
      for (const path of ['/api/hand-over', '/api/reasons', '/api/machines/M-1']) {
        const answer = await terminal.request('GET', path);
        expect([path, answer.status, await answer.json()]).toEqual([
          ...[path, 503],
          { code: 'restoring', message: 'the terminal is still reading its topics' },
        ]);
      }
      relay.release();
      await terminal.ready();
      const back = await terminal.follow('/api/events', first!.id);
      for (const page of [events, back]) {
        const snapshot = await eventually('a snapshot', () =>
          page.find(({ type }) => type === 'snapshot'),
        );
        expect(tileOf(snapshot)?.['state']).toBe('IDLE');
      }
    } finally {
      await Promise.all(terminals.splice(0).map((terminal) => terminal.close()));
      await relay.close();
    }
  });

  it('reports that Kafka is away, acknowledges nothing meanwhile, and continues when it is back', async () => {
    await stoppedMachine();
    const relay = await KafkaRelay.to(testBrokers()[0]!);
    try {
      const terminal = await start({ KAFKA_BROKERS: relay.address });
      const events = await terminal.follow();
      relay.cut();
      await eventually('Kafka is away', () => events.some(({ data }) => linkOf(data) === 'down'));
      const entry = reasonOf();
      const refused = await post(terminal, entry);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await fetch(`${terminal.url}/health/ready`)).status).toBe(503);
      expect((await fetch(`${terminal.url}/health/live`)).status).toBe(200);
      relay.restore();
      await eventually('it is taken', async () => (await post(terminal, entry)).status === 202);
      expect(await kafka.topics.count(TOPICS.downtimeReasons)).toBe(1);
      await eventually('it is back', () => linkOf(events.at(-1)?.data ?? {}) !== 'down');
    } finally {
      await Promise.all(terminals.splice(0).map((terminal) => terminal.close()));
      await relay.close();
    }
  });
});

function isFetch(request: Buffer): boolean {
  const [behindSize, key] = [4, 1];
  return request.readInt16BE(behindSize) === key;
}

function statusOf(data: Record<string, unknown>): unknown {
  return (data['entry'] as Record<string, unknown> | undefined)?.['status'];
}

function linkOf(data: Record<string, unknown>): unknown {
  return (data['kafka'] as Record<string, unknown> | undefined)?.['state'];
}
