import { type Environment, loadTerminalSettings } from '#libs/config';
import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { createTerminal, type Terminal } from '../../apps/terminal/src/index.js';
import { askOnceMore } from './ask-once-more.js';
import { untilReady } from './health.js';
import { testBrokers, type TestKafka } from './kafka.js';
import { rememberSecrets } from './secrets.js';

const HALF_A_DAY_MS = 12 * 3_600_000;

/** An event of `GET /api/events`. */
export interface LiveEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

/** A terminal in this process, with requests as the page makes them. */
export class RunningTerminal {
  private cookie: string | undefined;
  private readonly leaving: AbortController[] = [];

  private constructor(
    private readonly terminal: Terminal,
    readonly url: string,
  ) {}

  static async start(topicPrefix: string, env: Environment = {}): Promise<RunningTerminal> {
    rememberSecrets(env);
    const settings = loadTerminalSettings({
      KAFKA_BROKERS: testBrokers().join(','),
      KAFKA_TOPIC_PREFIX: topicPrefix,
      KAFKA_GROUP_ID: `${topicPrefix}terminal`,
      KAFKA_TOPIC_PARTITIONS: '3',
      TERMINAL_HTTP_PORT: '0',
      // no shift ends during a test, because sessions such as that of the operator end with it
      TERMINAL_SHIFTS: new Date(Date.now() + HALF_A_DAY_MS).toISOString().slice(11, 16),
      LOG_LEVEL: 'silent',
      ...env,
    });
    const terminal = await createTerminal(settings);
    await terminal.start();
    const url = (await terminal.url()).replace('[::1]', '127.0.0.1');
    return new RunningTerminal(terminal, url);
  }

  async ready(): Promise<this> {
    await untilReady(this.url);
    return this;
  }

  /** Makes a request as the page does, with its cookie. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method !== 'GET' && { 'x-machine-terminal': '1' }),
        ...(this.cookie !== undefined && { cookie: this.cookie }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const [cookie] = answer.headers.getSetCookie();
    if (cookie !== undefined) this.cookie = cookie.split(';')[0];
    return answer;
  }

  async json(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await this.request(method, path, body);
    return (await answer.json()) as Record<string, unknown>;
  }

  /** Follows the events; the returned array grows. */
  async follow(path = '/api/events', lastEventId?: string): Promise<LiveEvent[]> {
    const leaving = new AbortController();
    this.leaving.push(leaving);
    const answer = await fetch(this.url + path, {
      signal: leaving.signal,
      headers: {
        ...(this.cookie !== undefined && { cookie: this.cookie }),
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
    });
    if (!answer.ok || answer.body === null) throw new Error(`events: ${answer.status}`);
    const events: LiveEvent[] = [];
    void readEvents(answer.body, (event) => events.push(event)).catch(() => undefined);
    return events;
  }

  async close(): Promise<void> {
    await askOnceMore('terminal', this.url);
    for (const leaving of this.leaving) leaving.abort();
    await this.terminal.close();
  }
}

/** Hands over the events of a stream (SSE) until it ends. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: LiveEvent) => void,
): Promise<void> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => {
          const colon = line.indexOf(': ');
          return [line.slice(0, colon), line.slice(colon + 2)];
        }),
      );
      const [id, type, data] = ['id', 'event', 'data'].map((name) => fields.get(name));
      if (id === undefined || type === undefined || data === undefined) continue;
      onEvent({ id, type, data: JSON.parse(data) as Record<string, unknown> });
    }
  }
}

/** Records that a bridge publishes for a machine, without a bridge. */
export class PublishedMachine {
  private sequence = 0;
  private last: { state: string; startTime: number } | undefined;

  constructor(
    private readonly kafka: TestKafka,
    readonly machineId: string,
    private readonly factoryId = 'F-1',
  ) {}

  async list(): Promise<void> {
    const { machineId, factoryId } = this;
    const names = { displayName: `Machine ${machineId}`, factoryName: `Factory ${factoryId}` };
    await this.kafka.sendJson(TOPICS.registry, machineId, { machineId, factoryId, ...names });
    const reasons = [
      { name: 'Cooling', code: '22' },
      { name: 'Tool change', code: '23' },
    ];
    const record = { machineId, reasons, updatedAt: 1 };
    await this.kafka.sendJson(TOPICS.classificationReasons, machineId, record);
  }

  /** Publishes that the machine is in that state since `startTime`. Returns the event's `ce_id`. */
  async enter(state: 'OPERATING' | 'IDLE' | 'OFF', startTime: number): Promise<string> {
    const { machineId, factoryId, last } = this;
    this.sequence += 1;
    const id = `${machineId}-${startTime}-${this.sequence}`;
    const data = {
      ...{ machineId, factoryId, state, startTime, detectedAt: startTime + 60, revision: 0 },
      ...{ previousState: last?.state ?? null, previousStartTime: last?.startTime ?? null },
      startTimeSource: 'activityLog',
    };
    await this.publish(STATE_EVENT_TYPES.changed, id, data);
    await this.publishLatest(state, startTime, startTime + 60);
    return id;
  }

  /** Publishes a correction: the event was wrong, and the machine was in that state all the time. */
  async revise(corrects: string, state: 'OPERATING', startTime: number): Promise<void> {
    const { machineId, factoryId } = this;
    const detectedAt = Math.ceil(Date.now() / 1000);
    this.sequence += 1;
    await this.publish(STATE_EVENT_TYPES.corrected, `${corrects}-${this.sequence}`, {
      ...{ machineId, factoryId, state, startTime, detectedAt, corrects, revision: 1 },
      ...{ previousState: state, previousStartTime: startTime, startTimeSource: 'activityLog' },
    });
    await this.publishLatest(state, startTime, detectedAt);
  }

  private publishLatest(state: string, startTime: number, lastUpdateTime: number): Promise<void> {
    const { machineId, factoryId, sequence } = this;
    this.last = { state, startTime };
    return this.kafka.sendJson(TOPICS.states, machineId, {
      ...{ machineId, factoryId, displayName: `Machine ${machineId}`, state, startTime },
      ...{ observation: 'ok', lastUpdateTime, sequence },
    });
  }

  private publish(type: string, id: string, data: object): Promise<void> {
    const headers = { ce_id: id, ce_type: type, ce_subject: this.machineId };
    return this.kafka.sendJson(TOPICS.stateChanges, this.machineId, data, headers);
  }
}
