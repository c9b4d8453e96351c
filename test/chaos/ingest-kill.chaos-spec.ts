import { realDelayMs } from '#libs/clock';
import { AppProcess } from '../support/app-process.js';
import { eventually } from '../support/eventually.js';
import { untilReady } from '../support/health.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { ingestSettings, type Place, post } from '../support/running-ingest.js';
import { header } from '../support/topic-reader.js';

const TOPIC = 'erp.work-order-lists.v1';
const SENDERS = 12;
const KILLS = 4;
const PAUSE_MS = 50;

/** Two processes behind one address, as the senders see them. */
class Pair {
  readonly prefix = uniqueTopicPrefix();
  private readonly processes = new Map<string, { process: AppProcess; url: string }>();

  async start(instance: string): Promise<void> {
    const settings = ingestSettings(this.prefix, { INGEST_INSTANCE: instance });
    const process = new AppProcess('ingest', settings);
    const url = await process.url();
    this.processes.set(instance, { process, url });
    await untilReady(url);
  }

  async kill(instance: string): Promise<void> {
    const { process } = this.processes.get(instance)!;
    process.kill('SIGKILL');
    await process.exitCode();
  }

  urlOf(turn: number): string {
    const all = [...this.processes.values()];
    return all[turn % all.length]!.url;
  }

  async close(): Promise<void> {
    await Promise.all([...this.processes.values()].map(({ process }) => process.close()));
  }
}

describe('two ingests that are killed one after the other under a stream of requests', () => {
  const pair = new Pair();
  const kafka = new TestKafka(testBrokers(), pair.prefix);
  /** The answers to each id, one per attempt. */
  const answers = new Map<string, { status: number; place: string }[]>();

  beforeAll(async () => {
    await Promise.all(['a', 'b'].map((instance) => pair.start(instance)));
    const ending = new AbortController();
    const sending = Array.from({ length: SENDERS }, (_, sender) => send(sender, ending.signal));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = answers.size;
      await eventually('each is answered anew', () => answers.size >= before + 3 * SENDERS);
      const instance = kill % 2 === 0 ? 'a' : 'b';
      await pair.kill(instance);
      await pair.start(instance);
    }
    ending.abort();
    await Promise.all(sending);
  });

  afterAll(async () => {
    await pair.close();
    await kafka.close();
  });

  /** Posts one list after the other, each until it is accepted and then once more. */
  async function send(sender: number, ending: AbortSignal): Promise<void> {
    for (let number = 0; !ending.aborted; number += 1) {
      const id = `${sender}-${number}`;
      const taken: { status: number; place: string }[] = [];
      for (let turn = sender; taken.length < 2; turn += 1) {
        const body = { machineId: `M-${sender}`, workingOrders: [id] };
        const headers = { 'idempotency-key': id };
        const answer = await post(pair.urlOf(turn), '/lists', body, headers).catch(() => undefined);
        if (answer?.status === 202 || answer?.status === 200) {
          const { topic, partition, offset } = (await answer.json()) as Place;
          taken.push({ status: answer.status, place: `${topic} ${partition} ${offset}` });
        } else {
          await answer?.arrayBuffer();
          // a dozen senders without pauses would keep a process on the same cores from starting
          await realDelayMs(PAUSE_MS);
        }
      }
      answers.set(id, taken);
    }
  }

  it('answers each id with one place, the second time as a duplicate', () => {
    for (const [id, taken] of answers) {
      expect([id, taken[1]]).toEqual([id, { status: 200, place: taken[0]?.place }]);
    }
  });

  it('writes the record of each id once, at the answered place', async () => {
    const reader = await kafka.read(TOPIC);
    const records = await reader.findAtLeast(answers.size, 'list', () => true);
    const count = await kafka.topics.count(TOPIC);
    expect(count).toBe(answers.size);
    const places = records.map(
      (it) =>
        [
          header(it, 'message-id'),
          `${pair.prefix}${it.topic} ${it.partition} ${it.offset}`,
        ] as const,
    );
    expect(new Map(places)).toEqual(
      new Map([...answers].map(([id, taken]) => [id, taken[0]!.place])),
    );
  });
});
