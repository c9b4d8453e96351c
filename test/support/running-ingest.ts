import { type Environment, loadIngestSettings } from '#libs/config';
import { createIngest, type Ingest } from '../../apps/ingest/src/index.js';
import { askOnceMore } from './ask-once-more.js';
import { eventually } from './eventually.js';
import { untilReady } from './health.js';
import { testBrokers } from './kafka.js';
import { rememberSecrets } from './secrets.js';

export function ingestSettings(topicPrefix: string, env: Environment = {}): Environment {
  return {
    KAFKA_BROKERS: env['KAFKA_BROKERS'] ?? testBrokers().join(','),
    KAFKA_TOPIC_PREFIX: topicPrefix,
    KAFKA_GROUP_ID: `${topicPrefix}bridge`,
    KAFKA_TOPIC_PARTITIONS: '3',
    INGEST_HTTP_PORT: '0',
    INGEST_INSTANCE: 'a',
    ...env,
  };
}

/** The place of a record, as in an answer. */
export interface Place {
  id: string;
  topic: string;
  partition: number;
  offset: number;
}

/** An ingest in this process. */
export class RunningIngest {
  private constructor(
    private readonly ingest: Ingest,
    readonly url: string,
  ) {}

  static async start(topicPrefix: string, env: Environment = {}): Promise<RunningIngest> {
    const settings = loadIngestSettings(
      ingestSettings(topicPrefix, { LOG_LEVEL: 'silent', ...env }),
    );
    rememberSecrets(env);
    const ingest = await createIngest(settings);
    await ingest.start();
    return new RunningIngest(ingest, (await ingest.url()).replace('[::1]', '127.0.0.1'));
  }

  async ready(): Promise<this> {
    await untilReady(this.url);
    return this;
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return post(this.url, path, body, headers);
  }

  async close(): Promise<void> {
    await askOnceMore('ingest', this.url);
    await this.ingest.close();
  }
}

/** Posts JSON, or text and bytes unchanged. */
export function post(
  url: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: isRaw ? body : JSON.stringify(body),
  });
}

/**
 * Repeats a request with an id until it is accepted, as a sender does: on a busy machine Kafka may not have stored the
 * record in the five seconds after which the sender gets a 503.
 */
export async function postUntilTaken(...request: Parameters<typeof post>): Promise<void> {
  const status = await eventually('the request is taken', async () => {
    const answer = await post(...request);
    await answer.arrayBuffer();
    return answer.status !== 503 && answer.status;
  });
  if (status !== 200 && status !== 202) throw new Error(`answered with ${status}`);
}
