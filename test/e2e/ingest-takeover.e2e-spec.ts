import { connect } from 'node:net';
import { everyRealMs } from '#libs/clock';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { type Place, RunningIngest } from '../support/running-ingest.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const TOPIC = 'erp.work-order-lists.v1';
const LIST = { machineId: 'M-1', workingOrders: ['4711'] };
const END_TXN = 26;
/** A delay of each request to Kafka; a transaction takes five times as long. */
const SLOW_MS = 500;

describe('an ingest whose transaction does not end', () => {
  const prefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), prefix);
  let relay: KafkaRelay;
  let slow: RunningIngest;
  let other: RunningIngest;
  let third: RunningIngest;
  let written = 0;

  /** Holds back the request that ends a transaction, before it reaches the broker. */
  async function stopAtEnd(): Promise<void> {
    relay.holdBack((request) => request.readInt16BE(4) === END_TXN);
    await eventually('a transaction is about to end', () => relay.heldBack > 0);
  }

  /** Repeats the request until it is accepted, as a sender does. */
  const takenBy = (ingest: RunningIngest, id: string): Promise<[number, Place]> =>
    eventually(`${id} is taken`, async () => {
      const answer = await ingest.post('/lists', LIST, { 'idempotency-key': id });
      const body = (await answer.json()) as Place;
      return answer.ok && [answer.status, body];
    });

  beforeAll(async () => {
    relay = await KafkaRelay.to(testBrokers()[0]!);
    const throughRelay = { KAFKA_BROKERS: relay.address, INGEST_INSTANCE: 'slow' };
    slow = await (await RunningIngest.start(prefix, throughRelay)).ready();
    other = await (await RunningIngest.start(prefix, { INGEST_INSTANCE: 'other' })).ready();
    third = await (await RunningIngest.start(prefix, { INGEST_INSTANCE: 'third' })).ready();
  });

  afterAll(async () => {
    await Promise.all([slow, other, third].map((it) => it.close()));
    await relay.close();
    await kafka.close();
  });

  it('is fenced by another process that gets the same request, and writes it only once', async () => {
    const first = slow.post('/lists', LIST, { 'idempotency-key': 'held' });
    await stopAtEnd();
    const [, place] = await takenBy(other, 'held');
    relay.release();
    expect([200, 503]).toContain((await first).status);
    await slow.ready();
    expect(await takenBy(slow, 'held')).toEqual([200, place]);
    written += 1;
    expect(await kafka.topics.count(TOPIC)).toBe(written);
  });

  it('is fenced by two processes at once, one of which takes over each request', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `taken-over-${index}`);
    const before = slow.post('/lists', LIST);
    await stopAtEnd();
    const held = ids.map((id) => slow.post('/lists', LIST, { 'idempotency-key': id }));
    const waiting = `machine_ingest_waiting ${ids.length + 1}`;
    await eventually('they wait for the transaction before', async () =>
      (await (await fetch(`${slow.url}/metrics`)).text()).includes(waiting),
    );
    relay.release();
    await stopAtEnd();
    const [places, same] = await Promise.all(
      [other, third].map((ingest) =>
        Promise.all(ids.map(async (id) => (await takenBy(ingest, id))[1])),
      ),
    );
    expect(same).toEqual(places);
    relay.release();
    await Promise.all([before, ...held]);
    await slow.ready();
    written += ids.length + 1;
    expect(await kafka.topics.count(TOPIC)).toBe(written);
  });

  it('does not hide, by its open transaction, records of another process from a third', async () => {
    const open = slow.post('/lists', LIST, { 'idempotency-key': 'open' });
    await stopAtEnd();
    const [, place] = await takenBy(other, 'behind');
    // its receipt is not readable yet
    const repeated = await third.post('/lists', LIST, { 'idempotency-key': 'behind' });
    expect([200, 503]).toContain(repeated.status);
    relay.release();
    await open;
    expect(await takenBy(third, 'behind')).toEqual([200, place]);
    await takenBy(slow, 'open');
    written += 2;
    expect(await kafka.topics.count(TOPIC)).toBe(written);
  });

  it('is not fenced before it can write to a slow Kafka', async () => {
    const relays = await Promise.all([0, 1].map(() => KafkaRelay.to(testBrokers()[0]!)));
    const both = await Promise.all(
      relays.map(async ({ address }, index) => {
        const env = { KAFKA_BROKERS: address, INGEST_INSTANCE: `slowed-${index}` };
        return (await RunningIngest.start(prefix, env)).ready();
      }),
    );
    const ids = Array.from({ length: 40 }, (_, index) => `to-both-${index}`);
    written += ids.length;
    try {
      for (const slowed of relays) slowed.slowDown(SLOW_MS);
      await Promise.all(ids.flatMap((id) => both.map((ingest) => takenBy(ingest, id))));
    } finally {
      await Promise.all(both.map((ingest) => ingest.close()));
      await Promise.all(relays.map((slowed) => slowed.close()));
    }
    expect(await kafka.topics.count(TOPIC)).toBe(written);
  });

  it('answers a sender within its time limit, and writes the record later', async () => {
    const senders = {
      odoo: { token: 'the-token-of-odoo', paths: ['/lists'], answerWithinMs: 700 },
    };
    const file = temporaryFile('senders.json', { senders });
    const impatient = await RunningIngest.start(prefix, {
      ...{ KAFKA_BROKERS: relay.address, INGEST_INSTANCE: 'impatient', INGEST_SENDERS_FILE: file },
    });
    await impatient.ready();
    const headers = { authorization: 'Bearer the-token-of-odoo', 'idempotency-key': 'once' };
    relay.holdBack((request) => request.readInt16BE(4) === END_TXN);
    const startMs = performance.now();
    const refused = await impatient.post('/lists', LIST, headers);
    expect(refused.status).toBe(503);
    // less than the default of five seconds
    expect(performance.now() - startMs).toBeLessThan(4500);
    relay.release();
    const answer = await eventually('it is written', async () => {
      const again = await impatient.post('/lists', LIST, headers);
      return again.ok && again;
    });
    expect(answer.status).toBe(200);
    await impatient.close();
    written += 1;
    expect(await kafka.topics.count(TOPIC)).toBe(written);
  });

  it('closes the connection with its answer to a current request when it stops', async () => {
    const env = { KAFKA_BROKERS: relay.address, INGEST_INSTANCE: 'stopping' };
    const stopping = await (await RunningIngest.start(prefix, env)).ready();
    const underWay = stopping.post('/lists', LIST);
    await stopAtEnd();
    const stopped = stopping.close();
    await eventually('nothing more is taken', () =>
      fetch(`${stopping.url}/health/live`).then(
        () => false,
        () => true,
      ),
    );
    relay.release();
    const answer = await underWay;
    expect([answer.status, answer.headers.get('connection')]).toEqual([202, 'close']);
    await stopped;
    written += 1;
  });

  it.each([
    ['was refused', 99_999_999, / 413 /],
    ['does not end', 100_000, / 100 /],
  ])('does not wait for a sender that continues a body that %s', async (_, length, answer) => {
    const env = { KAFKA_BROKERS: relay.address, INGEST_INSTANCE: 'refusing' };
    const stopping = await (await RunningIngest.start(prefix, env)).ready();
    const { hostname, port } = new URL(stopping.url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    let received = '';
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    const lines = ['POST /lists HTTP/1.1', 'host: 127.0.0.1', 'expect: 100-continue'];
    socket.write([...lines, `content-length: ${length}`, '', ''].join('\r\n'));
    await eventually('it is answered, or taken', () => answer.test(received));
    // too slow to end the body, however long the stop takes
    const goOn = everyRealMs(50, () => socket.write('x'));
    await stopping.close();
    goOn();
    socket.destroy();
  });

  it('finds out whether it has written when the connection breaks at the end', async () => {
    const headers = { 'idempotency-key': 'cut' };
    const first = slow.post('/lists', LIST, headers);
    await stopAtEnd();
    relay.cutInPlaceOfAnswer();
    relay.release();
    await eventually('the connection breaks', () => relay.isAway);
    relay.restore();
    const answer = await first;
    expect([200, 202, 503]).toContain(answer.status);
    await slow.ready();
    const place = await eventually('it is known', async () => {
      const again = await slow.post('/lists', LIST, headers);
      const body = (await again.json()) as Place;
      return again.status === 200 && body;
    });
    if (answer.ok) expect(await answer.json()).toEqual(place);
    expect(await takenBy(other, 'cut')).toEqual([200, place]);
    written += 1;
    expect(await kafka.topics.count(TOPIC)).toBe(written);
  });
});
