import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../support/app-process.js';
import { CallbackReceiver } from '../support/callback-receiver.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { ingestSettings, post } from '../support/running-ingest.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const TOKEN = 'token-of-the-erp-with-callback';
const LIST = { machineId: 'M-1', workingOrders: ['4711'] };

describe('ingest as a process', () => {
  let ingest: AppProcess | undefined;
  let receiver: CallbackReceiver | undefined;

  afterEach(async () => {
    await ingest?.close();
    await receiver?.close();
    receiver = undefined;
  });

  it('reports all faults of its settings, and exits 78', async () => {
    ingest = new AppProcess('ingest', {
      INGEST_HTTP_HOST: '0.0.0.0',
      INGEST_TLS_KEY_FILE: '/nowhere/key.pem',
      INGEST_INSTANCE: 'a b',
    });
    expect(await ingest.exitCode()).toBe(78);
    const names = ['KAFKA_BROKERS', 'INGEST_SENDERS_FILE', 'INGEST_TLS_CERT_FILE'];
    for (const name of [...names, 'INGEST_TLS_KEY_FILE', 'INGEST_INSTANCE']) {
      expect(ingest.output).toContain(`- ${name} `);
    }
  });

  it('answers 503 with Retry-After while Kafka is away, and still exits 0', async () => {
    ingest = new AppProcess('ingest', { KAFKA_BROKERS: '127.0.0.1:1', INGEST_HTTP_PORT: '0' });
    const url = await ingest.url();
    const answer = await post(url, '/lists', LIST);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect((await fetch(`${url}/health/ready`)).status).toBe(503);
    ingest.kill('SIGTERM');
    expect(await ingest.exitCode()).toBe(0);
  });

  it('answers current requests when it is stopped, and exits 0', async () => {
    ingest = new AppProcess('ingest', ingestSettings(uniqueTopicPrefix()));
    const url = await ingest.ready();
    const answers = Array.from({ length: 20 }, () => post(url, '/lists', LIST));
    await eventually('all requests have arrived', async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const counts = metrics.matchAll(/^machine_ingest_(?:waiting|records_written_total) (\d+)/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0) >= 20;
    });
    ingest.kill('SIGTERM');
    for (const answer of await Promise.all(answers)) expect([202, 503]).toContain(answer.status);
    expect(await ingest.exitCode()).toBe(0);
    expect(ingest.output).not.toContain('cut short');
  });

  it('commits the answered callbacks when it is stopped while another hangs', async () => {
    const prefix = uniqueTopicPrefix();
    const kafka = new TestKafka(testBrokers(), prefix);
    await kafka.topics.createMissing(1, TOPICS.commandOutcomes);
    receiver = await CallbackReceiver.start();
    receiver.answers = ({ body }) =>
      body.includes('"hanging"') ? new Promise(() => undefined) : undefined;
    const callback = { url: receiver.url, hmacSecret: TOKEN, timeoutMs: 60_000 };
    const senders = { erp: { token: TOKEN, paths: ['/lists'], callback } };
    const env = ingestSettings(prefix, {
      COMMIT_INTERVAL_MS: '60000',
      INGEST_SENDERS_FILE: temporaryFile('senders.json', { senders }),
    });
    ingest = new AppProcess('ingest', env);
    await ingest.ready();
    // the first is committed at once, the second after the interval
    for (const messageId of ['first', 'second', 'hanging']) {
      const source = { topic: TOPICS.workOrderLists, messageId, sender: 'erp' };
      const about = { ce_id: `of-${messageId}`, ce_type: 'work-order-list.applied.v1' };
      const headers = { ce_specversion: '1.0', ce_source: '/machine-bridge', ...about };
      await kafka.sendJson(TOPICS.commandOutcomes, 'M-1', { machineId: 'M-1', source }, headers);
      await receiver.untilCalled(messageId);
    }
    ingest.kill('SIGTERM');
    expect(await ingest.exitCode()).toBe(0);
    expect(ingest.output).not.toContain('cut short');
    await ingest.close();
    ingest = new AppProcess('ingest', env);
    await receiver.untilCalled('hanging', 2);
    expect(receiver.callsAbout('first')).toHaveLength(1);
    expect(receiver.callsAbout('second')).toHaveLength(1);
  });
});
