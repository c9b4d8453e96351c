import { realDelayMs } from '#libs/clock';
import { AppProcess } from '../support/app-process.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { PublishedMachine } from '../support/running-terminal.js';

/** Longer than Kafka may be silent. */
const SUSPENDED_MS = 5000;

describe('the terminal as a process', () => {
  let terminal: AppProcess | undefined;
  let kafka: TestKafka | undefined;

  afterEach(async () => {
    await kafka?.close();
    kafka = undefined;
    await terminal?.close();
  });

  it('reports all faults of its settings, and exits 78', async () => {
    terminal = new AppProcess('terminal', {
      TERMINAL_HTTP_HOST: '0.0.0.0',
      TERMINAL_SHIFTS: 'early',
      TERMINAL_TOKENS_FILE: '/nowhere/tokens.json',
    });
    expect(await terminal.exitCode()).toBe(78);
    for (const name of ['KAFKA_BROKERS', 'TERMINAL_SHIFTS', 'TERMINAL_TOKENS_FILE']) {
      expect(terminal.output).toContain(`- ${name} `);
    }
  });

  it('answers while Kafka is away, and still exits 0 with pages connected', async () => {
    terminal = new AppProcess('terminal', {
      KAFKA_BROKERS: '127.0.0.1:1',
      TERMINAL_HTTP_PORT: '0',
    });
    const url = await terminal.url();
    const live = await fetch(`${url}/api/events`);
    expect(live.status).toBe(200);
    await eventually(
      'it says that Kafka is away',
      async () => (await fetch(`${url}/health/ready`)).status === 503,
    );
    const posted = await fetch(`${url}/api/reasons`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-machine-terminal': '1' },
      body: JSON.stringify({
        entries: [
          {
            entryId: '0b8fb1b6-6f3c-4c53-9d1a-0f2c8a2f5a11',
            ...{ machineId: 'M-1', reasonId: '22', startTime: 1_763_680_000 },
          },
        ],
      }),
    });
    expect([posted.status, posted.headers.get('retry-after')]).toEqual([503, '3']);
    terminal.kill('SIGTERM');
    expect(await terminal.exitCode()).toBe(0);
    await live.body?.cancel().catch(() => undefined);
  });

  const startWith = (prefix: string): AppProcess =>
    new AppProcess('terminal', {
      KAFKA_BROKERS: testBrokers().join(','),
      KAFKA_TOPIC_PREFIX: prefix,
      KAFKA_GROUP_ID: `${prefix}terminal`,
      TERMINAL_HTTP_PORT: '0',
    });

  it('does not report Kafka as away after its own suspension', async () => {
    kafka = new TestKafka(testBrokers(), uniqueTopicPrefix());
    terminal = startWith(kafka.topicPrefix);
    const url = await terminal.ready();
    // the start may have reported an absent broker
    const before = terminal.output.length;
    terminal.kill('SIGSTOP');
    await realDelayMs(SUSPENDED_MS);
    terminal.kill('SIGCONT');
    await new PublishedMachine(kafka, 'M-1').list();
    await eventually('what has come since is read', async () => {
      const { machines } = (await (await fetch(`${url}/api/reasons`)).json()) as {
        machines: Record<string, object>;
      };
      return 'M-1' in machines;
    });
    expect(terminal.output.slice(before)).not.toContain('Kafka is away');
  });

  it('exits 0 while it follows its topics', async () => {
    terminal = startWith(uniqueTopicPrefix());
    await terminal.ready();
    terminal.kill('SIGTERM');
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.output).not.toContain('cut short');
  });
});
