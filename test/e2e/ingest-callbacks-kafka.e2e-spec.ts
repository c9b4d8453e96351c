import { realEpochMs } from '#libs/clock';
import { INPUT_TOPICS, INTERNAL_TOPICS, TOPICS } from '#libs/contracts';
import { CallbackReceiver } from '../support/callback-receiver.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { RunningIngest } from '../support/running-ingest.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const TOKEN = 'token-of-the-erp-with-callback';
const POISON = 'message-that-shows-the-bug';

interface SearchedBytes {
  includes: (this: Buffer, ...args: unknown[]) => boolean;
}

describe('callbacks of an ingest that may not create topics', () => {
  const prefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), prefix);
  let receiver: CallbackReceiver;
  let ingest: RunningIngest;

  beforeAll(async () => {
    receiver = await CallbackReceiver.start();
    const { ingestClaims, ingestReceipts } = INTERNAL_TOPICS;
    await kafka.topics.createMissing(1, ...INPUT_TOPICS, ingestClaims, ingestReceipts);
    const callback = { url: receiver.url, hmacSecret: TOKEN };
    const erp = { token: TOKEN, paths: ['/lists', '/metrics'], callback };
    const sendersFile = temporaryFile('senders.json', { senders: { erp } });
    const env = { INGEST_SENDERS_FILE: sendersFile, KAFKA_CREATE_TOPICS: 'false' };
    ingest = await (await RunningIngest.start(prefix, env)).ready();
  });

  afterAll(async () => {
    await ingest.close();
    await kafka.close();
    await receiver.close();
  });

  const problem = async (): Promise<string> => {
    const answer = await fetch(`${ingest.url}/health/ready`);
    const { info } = (await answer.json()) as { info: { callbacks: { message?: string } } };
    return info.callbacks.message ?? 'none';
  };

  /** Written so many hours ago, by the clock of its host. */
  const sendOutcome = (messageId: string, hoursAgo = 0): Promise<unknown> => {
    const source = { topic: TOPICS.workOrderLists, messageId, sender: 'erp' };
    return kafka.send(TOPICS.commandOutcomes, {
      key: 'M-1',
      value: JSON.stringify({ machineId: 'M-1', source }),
      timestamp: String(realEpochMs() - hoursAgo * 3_600_000),
      headers: {
        ...{ ce_specversion: '1.0', ce_id: `of-${messageId}`, ce_source: '/machine-bridge' },
        ...{ ce_type: 'work-order-list.applied.v1', 'content-type': 'application/json' },
      },
    });
  };

  it('report that the topic is missing, and continue once it exists', async () => {
    const message = await eventually(
      'ready names the sender',
      async () => /^erp: no topic to read: .*$/.exec(await problem())?.[0],
    );
    expect(message).toContain(TOPICS.commandOutcomes);
    await kafka.topics.createMissing(1, TOPICS.commandOutcomes);
    await eventually('ready names nobody', async () => (await problem()) === 'none');
    await sendOutcome('first');
    await receiver.untilCalled('first');
  });

  it('do not give up an outcome by the clock of its host', async () => {
    receiver.status = 503;
    // a day is the longest that an outcome waits
    await sendOutcome('by a clock far behind', 48);
    await receiver.untilCalled('by a clock far behind', 2);
    receiver.status = 200;
    await receiver.untilCalled('by a clock far behind', 3);
  });

  it('give up as failed an outcome that triggers a bug, and continue with the next', async () => {
    // The reader first searches the bytes for the sender's name.
    const prototype = Buffer.prototype as unknown as SearchedBytes;
    const { includes } = prototype;
    prototype.includes = function (...args) {
      const isOfReader = args[0] === '"sender":"erp"';
      if (isOfReader && includes.call(this, POISON)) throw new Error('a bug');
      return includes.apply(this, args);
    };
    await sendOutcome(POISON);
    await sendOutcome('behind');
    await receiver.untilCalled('behind');
    const headers = { authorization: `Bearer ${TOKEN}` };
    const line = /^machine_ingest_callback_outcomes_total\{sender="erp",result="failed"\} 1$/m;
    await eventually('it is given up', async () =>
      line.test(await (await fetch(`${ingest.url}/metrics`, { headers })).text()),
    );
    prototype.includes = includes;
    expect(receiver.callsAbout(POISON)).toEqual([]);
    expect(await problem()).toBe('none');
  });
});
