import { readFileSync } from 'node:fs';
import { realDelayMs } from '#libs/clock';
import { type LocalKafka, startLocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { eventually } from '../support/eventually.js';
import { untilUnready } from '../support/health.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type Place, RunningIngest } from '../support/running-ingest.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { header } from '../support/topic-reader.js';

const TOPIC = 'erp.work-order-lists.v1';
const SENDERS = 10;
/** A clock that stops while this thread, which also runs the ingest, waits for a core. */
const servedMs = (): number =>
  performance.now() - Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;

describe('a Kafka that is killed under a stream of requests to ingest', () => {
  const prefix = uniqueTopicPrefix();
  let broker: LocalKafka;
  let ingest: RunningIngest;
  let kafka: TestKafka;
  const answered = new Map<string, string>();
  const refusals: { status: number; retryAfter: string | null; afterMs: number }[] = [];

  beforeAll(async () => {
    broker = await startLocalKafka({ dir: temporaryFolder() });
    kafka = new TestKafka([broker.brokers], prefix);
    ingest = await RunningIngest.start(prefix, { KAFKA_BROKERS: broker.brokers });
    await ingest.ready();
    const ending = new AbortController();
    const sending = Array.from({ length: SENDERS }, (_, sender) => send(sender, ending.signal));
    await eventually('lists are taken', () => answered.size > 100);
    await broker.kill();
    await eventually('requests are refused', () => refusals.length > 3 * SENDERS);
    await untilUnready(ingest.url, 'kafka');
    await broker.restart();
    await ingest.ready();
    const before = answered.size;
    await eventually('lists are taken again', () => answered.size > before + 100);
    ending.abort();
    await Promise.all(sending);
  });

  afterAll(async () => {
    await ingest.close();
    await kafka.close();
    await broker.stop();
  });

  async function send(sender: number, ending: AbortSignal): Promise<void> {
    for (let number = 0; !ending.aborted; number += 1) {
      const id = `${sender}-${number}`;
      while (!answered.has(id)) {
        const startMs = servedMs();
        const body = { machineId: `M-${sender}`, workingOrders: [id] };
        const answer = await ingest.post('/lists', body, { 'idempotency-key': id });
        const { topic, partition, offset } = (await answer.json()) as Place;
        if (answer.ok) answered.set(id, `${topic} ${partition} ${offset}`);
        else {
          const afterMs = servedMs() - startMs;
          const retryAfter = answer.headers.get('retry-after');
          refusals.push({ status: answer.status, retryAfter, afterMs });
          await realDelayMs(100);
        }
      }
    }
  }

  it('makes ingest answer 503 with Retry-After within six seconds', () => {
    expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([503]));
    expect(refusals.filter(({ retryAfter }) => !(Number(retryAfter) > 0))).toEqual([]);
    expect(Math.max(...refusals.map(({ afterMs }) => afterMs))).toBeLessThan(6000);
  });

  it('neither loses nor duplicates answered messages', async () => {
    expect(await kafka.topics.count(TOPIC)).toBe(answered.size);
    const reader = await kafka.read(TOPIC);
    const records = await reader.findAtLeast(answered.size, 'list', () => true);
    const places = records.map((it): [string | undefined, string] => [
      header(it, 'message-id'),
      `${prefix}${it.topic} ${it.partition} ${it.offset}`,
    ]);
    expect(new Map(places)).toEqual(answered);
  });
});
