import { TOPICS } from '#libs/contracts';
import type { AppProcess } from '../support/app-process.js';
import { inBrief } from '../support/chaos/in-brief.js';
import { eventually } from '../support/eventually.js';
import { testBrokers } from '../support/kafka.js';
import { foldStates } from '../support/states/fold-states.js';
import { type CommandResult, jsonLines, runCommand } from '../support/run-command.js';
import { readStateStream } from '../support/states/state-stream.js';
import { StatesPlant } from '../support/states/states-plant.js';
import { numberingFaults } from '../support/states/stream-faults.js';
import { truthOf, untruth } from '../support/states/truth-of.js';
import { header, messageIdOf, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
/** A minute of the plant takes a second of the test, as does the polling interval. */
const CLOCK_SPEED = 60;
const MACHINES = 20;
/** Longer than a machine may go unanswered before it is lost, and than the shorter states last. */
const PAUSE_MINUTES = 8;
const SETTLE_MINUTES = 5;
const BEFORE_ALL_SECONDS = 3 * 3600;
const TOKEN = 'token-of-the-api';
const FLOWS = 'work-orders,downtime-reasons,machine-states';

interface Ready {
  status: number;
  details: Record<string, { status: string; message?: string }>;
}

interface Flow {
  name: string;
  state: string;
  why: string | null;
  by: string | null;
  since: number | null;
  lag: number | null;
  waiting: number;
  oldestWaitingSeconds: number;
  lastError: unknown;
  processes: { process: string; state: string; partitions: Record<string, number[]> }[];
}

describe('flows of two processes that are paused by hand', () => {
  let plant: StatesPlant;
  let outcomes: TopicReader;
  let [first, second]: AppProcess[] = [];
  let watchedSince: number;
  let sent = 0;

  const bridge = (which: AppProcess | undefined): AppProcess => {
    if (which === undefined) throw new Error('no such bridge');
    return which;
  };

  const post = async (
    to: AppProcess | undefined,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; answer: Record<string, unknown> }> => {
    const response = await fetch(`${await bridge(to).url()}/api/flows/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      answer: (await response.json()) as Record<string, unknown>,
    };
  };

  const readyOf = async (which: AppProcess | undefined): Promise<Ready> => {
    const response = await fetch(`${await bridge(which).url()}/health/ready`);
    const { details } = (await response.json()) as Pick<Ready, 'details'>;
    return { status: response.status, details };
  };

  /** Waits until the process obeys the pause; it stays ready. */
  const untilPaused = async (which: AppProcess | undefined, flow: string): Promise<void> => {
    await eventually(`${flow} is paused, and the bridge is ready`, async () => {
      const { status, details } = await readyOf(which);
      const paused = { status: 'up', message: 'paused by hand: an audit (Ada)' };
      // a process reads the control of the other within a second: until then an earlier reason may apply
      expect([status, details[flow]]).toEqual([200, paused]);
      return true;
    });
  };

  const metricOf = async (which: AppProcess | undefined, flow: string): Promise<string> => {
    const response = await fetch(`${await bridge(which).url()}/metrics`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const text = await response.text();
    const pattern = `^machine_bridge_flow_paused_by_hand\\{flow="${flow}"\\} (\\d)$`;
    return new RegExp(pattern, 'm').exec(text)?.[1] ?? '';
  };

  const command = async (
    which: AppProcess | undefined,
    ...args: string[]
  ): Promise<CommandResult> =>
    runCommand([...args, '--bridge', await bridge(which).url()], {
      topicPrefix: plant.kafka.topicPrefix,
      env: { BRIDGE_API_TOKEN: TOKEN },
    });

  const flowsOf = async (which: AppProcess | undefined): Promise<Flow[]> =>
    jsonLines(await command(which, 'flows', '--json'));

  /** Sends a list and a reason to each machine; waits for the outcomes of the reasons. */
  const sendRound = async (): Promise<void> => {
    sent += 1;
    const startTime = plant.clock.nowSeconds() - 10 * MINUTE - sent;
    const toEach = (topic: string, what: string, command: object): Promise<void> => {
      const headers = (id: string) => ({ 'message-id': `${what}-${sent}-${id}` });
      const value = (machineId: string) => JSON.stringify({ machineId, ...command });
      const messageOf = (id: string) => ({ key: id, value: value(id), headers: headers(id) });
      return plant.kafka.send(topic, ...plant.machineIds.map(messageOf));
    };
    await toEach(TOPICS.workOrderLists, 'list', { workingOrders: [`round-${sent}`] });
    const reason = { reasonId: '1', startTime, endTime: startTime + MINUTE };
    await toEach(TOPICS.downtimeReasons, 'reason', reason);
    await eventually(
      `the reasons of round ${sent} are final`,
      () => finalOf(`reason-${sent}-`).size === plant.machineIds.length,
    );
  };

  /** Final outcomes by message id, for ids with this prefix; a message must not have more than one. */
  const finalOf = (idPrefix: string): Map<string, string[]> => {
    const final = new Map<string, string[]>();
    for (const record of outcomes.records) {
      const id = messageIdOf(record);
      const what = header(record, 'ce_type')?.split('.')[1] ?? '';
      if (what === 'deferred' || !id.startsWith(idPrefix)) continue;
      final.set(id, [...(final.get(id) ?? []), what]);
    }
    return final;
  };

  beforeAll(async () => {
    plant = await StatesPlant.open({
      brokers: testBrokers(),
      machines: MACHINES,
      clockSpeed: CLOCK_SPEED,
      partitions: 4,
      env: {
        BRIDGE_FLOWS: FLOWS,
        BRIDGE_API_TOKEN: TOKEN,
        SETTLE_SECONDS: String(SETTLE_MINUTES * MINUTE),
      },
    });
    first = plant.startBridge();
    second = plant.startBridge();
    await Promise.all([bridge(first).ready(), bridge(second).ready()]);
    await plant.untilShared(2);
    await plant.untilAllAnswered();
    watchedSince = plant.clock.nowSeconds();
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
    await sendRound();
    // otherwise a pause could precede their calls
    await eventually('the first lists are final', () => finalOf('list-').size === MACHINES);
  });

  afterAll(() => plant.close());

  it('need the token, and a request with a reason and a name', async () => {
    const pause = { reason: 'an audit', by: 'Ada' };
    const asked = async (...args: Parameters<typeof post>): Promise<[number, unknown]> => {
      const { status, answer } = await post(...args);
      return [status, answer['message']];
    };
    expect(await asked(first, 'work-orders/pause', pause, { authorization: 'Bearer x' })).toEqual([
      401,
      expect.stringContaining('BRIDGE_API_TOKEN'),
    ]);
    expect(await asked(first, 'lunch/pause', pause)).toEqual([
      404,
      'there is no such flow: the flows are work-orders, downtime-reasons, machine-states',
    ]);
    expect(await asked(first, 'work-orders/pause', { reason: ' ' })).toEqual([
      400,
      expect.stringMatching(/^reason and by missing: send \{"reason"/),
    ]);
    expect(await asked(first, 'work-orders/pause', { reason: 'an audit' })).toEqual([
      400,
      expect.stringMatching(/^by missing/),
    ]);
    expect(await asked(first, 'work-orders/pause')).toEqual([
      400,
      expect.stringMatching(/^the body is no JSON object/),
    ]);
    expect(await asked(first, 'work-orders/pause', { ...pause, by: 7 })).toEqual([
      400,
      'by must be a text of at most 100 characters',
    ]);
    expect(await asked(first, 'work-orders/pause', '{"reason":')).toEqual([
      400,
      expect.any(String),
    ]);
    const large = { ...pause, reason: 'x'.repeat(20_000) };
    expect(await asked(first, 'work-orders/pause', large)).toEqual([413, expect.any(String)]);
    // a proxy may remove Origin
    for (const fromPage of [
      { origin: 'http://127.0.0.1:3000' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expect(await asked(first, 'work-orders/resume', {}, fromPage)).toEqual([
        403,
        'pages of a browser may not control flows',
      ]);
    }
    expect((await readyOf(first)).details['work-orders']).toEqual({ status: 'up' });
  });

  it('begin no call in either process, while other flows continue', async () => {
    const paused = await post(first, 'work-orders/pause', { reason: 'a first reason', by: 'Bob' });
    expect(paused).toMatchObject({
      status: 200,
      answer: { name: 'work-orders', state: 'pausedByHand', why: 'a first reason', before: null },
    });
    await eventually(
      'the other process has read it',
      async () => (await metricOf(second, 'work-orders')) === '1',
    );
    const again = await post(second, 'work-orders/pause', { reason: 'an audit', by: 'Ada' });
    const { since } = paused.answer;
    expect(again.answer).toEqual({
      ...{ name: 'work-orders', state: 'pausedByHand', why: 'an audit', by: 'Ada', since },
      before: { why: 'a first reason', by: 'Bob', since },
    });
    for (const each of [first, second]) await untilPaused(each, 'work-orders');
    expect(await metricOf(first, 'work-orders')).toBe('1');
    expect(await metricOf(first, 'downtime-reasons')).toBe('0');
    const since1 = await plant.sandbox.newestCall();
    await sendRound();
    await plant.untilAllAnswered();
    expect(await plant.sandbox.countCalls('setWorkOrderList', since1, 1)).toBe(0);
    expect(finalOf(`list-${sent}-`).size).toBe(0);
    const said = /"(flow paused by hand)","flow":"work-orders","reason":"an audit","by":"Ada"/;
    await bridge(second).untilOutputMatches(said, 'it is logged');
  });

  it('are shown for the group, with the share of each process', async () => {
    const seen = await eventually(
      'both processes report the pause, and the lists that wait',
      async () => {
        const flows = await flowsOf(first);
        // the share of a process may be a report from before the lists arrived
        return (
          flows[0]?.waiting === MACHINES &&
          flows[0].lag === MACHINES &&
          flows[0].oldestWaitingSeconds > 0 &&
          flows.every(
            ({ processes, state }) =>
              processes.length === 2 && processes.every((share) => share.state === state),
          ) &&
          flows
        );
      },
    );
    expect(seen.map(({ name, state, why, by }) => ({ name, state, why, by }))).toEqual([
      { name: 'work-orders', state: 'pausedByHand', why: 'an audit', by: 'Ada' },
      { name: 'downtime-reasons', state: 'running', why: null, by: null },
      { name: 'machine-states', state: 'running', why: null, by: null },
    ]);
    const [lists, , states] = seen;
    expect(lists?.lastError).toBeNull();
    expect(states?.lag).toBeNull();
    const partitionsOf = (flow: Flow | undefined, topic: string): number[] =>
      (flow?.processes ?? []).flatMap(({ partitions }) => partitions[topic] ?? []).sort();
    expect(partitionsOf(lists, TOPICS.workOrderLists)).toEqual([0, 1, 2, 3]);
    expect(partitionsOf(states, 'machine-bridge.machine-states.v1')).toEqual([0, 1, 2, 3]);
    const shown = await command(second, 'flows');
    expect(shown.stdout).toMatch(/^work-orders +pausedByHand .* an audit \(Ada\)$/m);
  });

  it('stay paused after all processes are replaced, one by a kill', async () => {
    const since = await plant.sandbox.newestCall();
    bridge(first).kill('SIGKILL');
    bridge(second).kill('SIGTERM');
    expect(await bridge(second).exitCode()).toBe(0);
    await bridge(first).exitCode();
    first = plant.startBridge();
    second = plant.startBridge();
    for (const each of [first, second]) await untilPaused(each, 'work-orders');
    await plant.untilShared(2);
    await plant.untilAllAnswered();
    await sendRound();
    await plant.untilAllAnswered();
    await eventually(
      'the processes that have ended are left out',
      async () => (await flowsOf(first))[0]?.processes.length === 2,
    );
    expect(await plant.sandbox.countCalls('setWorkOrderList', since, 1)).toBe(0);
    expect(finalOf(`list-${sent}-`).size).toBe(0);
  });

  it('send all waiting commands once and in order after they are resumed', async () => {
    const since = await plant.sandbox.newestCall();
    const resumed = await command(second, 'resume', 'work-orders', '--by', 'Eve');
    expect(resumed).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^work-orders is resumed; it was paused since .*: an audit \(Ada\)\n$/,
      ) as string,
    });
    for (const machineId of plant.machineIds) {
      await plant.sandbox.listBecomes(machineId, [`round-${sent}`]);
    }
    await eventually(
      'all lists are final',
      () => finalOf('list-').size === sent * plant.machineIds.length,
    );
    expect([...finalOf('list-')].filter(([, became]) => became.length !== 1)).toEqual([]);
    // Each machine got the newest of its waiting lists once.
    const calls = (await plant.sandbox.allCalls(since)).filter(
      ({ operation }) => operation === 'setWorkOrderList',
    );
    expect(calls.flatMap(({ machineIds }) => machineIds).sort()).toEqual(plant.machineIds.sort());
    expect((await readyOf(first)).details['work-orders']).toEqual({ status: 'up' });
    expect(await metricOf(first, 'work-orders')).toBe('0');
    await eventually('the other process says so', () =>
      /"flow resumed by hand",.*"by":"Eve"/.test(bridge(first).output),
    );
    const wrong = await command(first, 'pause', 'lunch', '--reason', 'hunger');
    expect(wrong).toMatchObject({ exitCode: 64, stdout: '' });
    const nothing = await post(first, 'work-orders/resume');
    expect(nothing).toMatchObject({ status: 200, answer: { by: null, before: null } });
  });

  it('obey the latest control, even if an older one is in another partition of the topic', async () => {
    const pause = (since: number) =>
      JSON.stringify({ paused: true, reason: 'an audit', by: 'Ada', since });
    for (const each of [first, second]) await post(each, 'work-orders/resume');
    // the second one's effect shows that the first one was read
    await plant.kafka.send(
      'machine-bridge.flow-controls.v1',
      { partition: 3, key: 'work-orders', value: pause(watchedSince) },
      { partition: 3, key: 'downtime-reasons', value: pause(plant.clock.nowSeconds()) },
    );
    for (const each of [first, second]) {
      await untilPaused(each, 'downtime-reasons');
      expect((await readyOf(each)).details['work-orders']).toEqual({ status: 'up' });
    }
    expect((await post(first, 'downtime-reasons/resume')).status).toBe(200);
  });

  it('are not resumed by an earlier control that is read again with the latest', async () => {
    const control = (paused: boolean, by: string): string => {
      const reason = paused ? 'an audit' : null;
      return JSON.stringify({ paused, reason, by, since: plant.clock.nowSeconds() });
    };
    await post(first, 'downtime-reasons/pause', { reason: 'an audit', by: 'Ada' });
    for (const each of [first, second]) await untilPaused(each, 'downtime-reasons');
    // one request puts them into one fetch, and the last one's effect shows that all were read
    await plant.kafka.send(
      'machine-bridge.flow-controls.v1',
      { partition: 3, key: 'downtime-reasons', value: control(false, 'Bob') },
      { partition: 3, key: 'downtime-reasons', value: control(true, 'Ada') },
      { partition: 3, key: 'work-orders', value: control(true, 'Ada') },
    );
    for (const each of [first, second]) {
      await untilPaused(each, 'work-orders');
      await untilPaused(each, 'downtime-reasons');
      expect(bridge(each).output).not.toContain('Bob');
    }
    for (const flow of ['downtime-reasons', 'work-orders']) {
      expect((await post(first, `${flow}/resume`)).status).toBe(200);
    }
  });

  it('are reported as unknown while their topic is missing, and known again afterwards', async () => {
    const topic = 'machine-bridge.flow-controls.v1';
    const from = [first, second].map((each) => [each, bridge(each).output.length] as const);
    const untilLogged = (msg: string): Promise<boolean> =>
      eventually(msg, () => from.every(([each, at]) => bridge(each).output.includes(msg, at)));
    await plant.kafka.topics.deleteTopic(topic);
    try {
      await untilLogged('"msg":"flow controls not read"');
    } finally {
      await plant.kafka.topics.createMissing(4, topic);
    }
    await untilLogged('"msg":"flow controls read again"');
  });

  it('poll no machine while states are paused, and miss no change', async () => {
    await post(first, 'machine-states/pause', { reason: 'an audit', by: 'Ada' });
    for (const each of [first, second]) await untilPaused(each, 'machine-states');
    // Earlier polls have ended when later reasons have been applied.
    await sendRound();
    const since = await plant.sandbox.newestCall();
    await plant.clock.sleepSeconds(PAUSE_MINUTES * MINUTE);
    await eventually(
      'the machines are listed all the same',
      async () => (await plant.sandbox.countCalls('getMachineInfo', since, 1)) > 0,
    );
    const calls = (await plant.sandbox.allCalls(since)).map(({ operation }) => operation);
    expect(calls.filter((name) => /State|Activity/.test(name))).toEqual([]);
    await post(second, 'machine-states/resume', { by: 'Ada' });
    await plant.untilAllAnswered();
    const until = plant.clock.nowSeconds();
    await plant.clock.sleepSeconds((SETTLE_MINUTES + 5) * MINUTE);
    for (const each of [first, second]) {
      bridge(each).kill('SIGTERM');
      expect(await bridge(each).exitCode()).toBe(0);
    }
    const stream = await readStateStream(plant.kafka, plant.partitions);
    const faults: string[] = [];
    for (const machineId of plant.machineIds) {
      const records = stream.events.get(machineId) ?? [];
      const from = watchedSince - BEFORE_ALL_SECONDS;
      const truth = await truthOf(plant.sandbox, machineId, from, until);
      const untrue = untruth(machineId, truth, foldStates(records), watchedSince);
      faults.push(
        ...numberingFaults(machineId, records),
        ...(untrue === undefined ? [] : [untrue]),
      );
    }
    expect(inBrief(faults)).toEqual([]);
  });
});
