import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realEpochMs } from '#libs/clock';
import type { Environment } from '#libs/config';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { untilReady, untilUnreadyBecause } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { runCommand } from '../support/run-command.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { Authority } from '../support/tls/authority.js';
import { PASSWORD, type SecuredKafka, startSecuredKafka } from '../support/tls/secured-kafka.js';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startTokenServer,
  type TokenServer,
} from '../support/tls/token-server.js';

const TOKEN_LIFE_SECONDS = 10;
/** Less than kafkajs assumes for the end of a session. */
const MAX_REAUTH_MS = 5000;

describe('logins to Kafka that end or change while the bridge runs', () => {
  const topicPrefix = uniqueTopicPrefix();
  const folder = temporaryFolder();
  let tokens: TokenServer;
  let secured: SecuredKafka;
  let sandbox: RunningSandbox;
  let running: AppProcess | undefined;
  let lists = 0;

  beforeAll(async () => {
    tokens = await startTokenServer(TOKEN_LIFE_SECONDS);
    secured = await startSecuredKafka(folder, { tokens, maxReauthMs: MAX_REAUTH_MS });
    sandbox = await startSandbox();
  });

  afterEach(() => running?.close());

  afterAll(async () => {
    await sandbox.close();
    await secured.broker.kill();
    await tokens.close();
  });

  const start = (env: Environment): AppProcess => {
    const sandboxUrl = sandbox.control.url;
    const common = bridgeEnvironment({ brokers: [], topicPrefix, partitions: 1, sandboxUrl });
    return (running = new AppProcess('bridge', { ...common, LOG_LEVEL: 'trace', ...env }));
  };

  /** Sends a new list over the plain port, and waits until the machine has it. */
  const delivers = async (): Promise<void> => {
    lists += 1;
    const workingOrders = [`order-${lists}`];
    const kafka = new TestKafka([secured.broker.brokers], topicPrefix);
    await kafka.sendList('M-001', workingOrders);
    await kafka.close();
    await sandbox.control.listBecomes('M-001', workingOrders);
  };

  const unusableFiles = async (url: string): Promise<string | undefined> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return /^machine_bridge_kafka_files_unusable (\S+)$/m.exec(text)?.[1];
  };

  const timesSaid = (bridge: AppProcess, what: string): number =>
    bridge.output.split(what).length - 1;

  const restartBroker = async (): Promise<void> => {
    await secured.broker.kill();
    await secured.broker.restart();
  };

  const endsWell = async (bridge: AppProcess): Promise<void> => {
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
  };

  /** Files under a link `..data` to a folder, which each new version switches, as in secrets of Kubernetes. */
  const mounted = (name: string) => {
    const dir = join(folder, name);
    let versions = 0;
    return {
      path: (file: string) => join(dir, file),
      write: async (files: Record<string, string>): Promise<void> => {
        versions += 1;
        const version = join(dir, `..version-${versions}`);
        await mkdir(version, { recursive: true });
        for (const [file, content] of Object.entries(files)) {
          await writeFile(join(version, file), content);
          if (versions === 1) await symlink(join('..data', file), join(dir, file));
        }
        await symlink(version, join(dir, '..data.new'));
        await rename(join(dir, '..data.new'), join(dir, '..data'));
      },
    };
  };

  const byToken = (env: Environment = {}): Environment => ({
    KAFKA_BROKERS: secured.addresses.token,
    KAFKA_SASL_MECHANISM: 'oauthbearer',
    KAFKA_SASL_OAUTH_TOKEN_URL: tokens.tokenUrl,
    KAFKA_SASL_OAUTH_CLIENT_ID: CLIENT_ID,
    KAFKA_SASL_OAUTH_CLIENT_SECRET: CLIENT_SECRET,
    KAFKA_SASL_OAUTH_SCOPE: 'kafka',
    KAFKA_SASL_OAUTH_EXTENSIONS: 'logicalCluster=lkc-1,identityPoolId=pool-1',
    ...env,
  });

  it('are renewed with their tokens, by one request for all connections', async () => {
    const issuedBefore = tokens.issued.length;
    const bridge = start(byToken());
    const startedMs = realEpochMs();
    const url = await bridge.ready();
    await delivers();
    await eventually('three tokens are renewed', () => tokens.issued.length - issuedBefore >= 4);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    await delivers();
    const lives = (realEpochMs() - startedMs) / (1000 * TOKEN_LIFE_SECONDS);
    expect(tokens.issued.length - issuedBefore).toBeLessThanOrEqual(Math.ceil(lives * 2));
    // the bridge has not replaced the consumer meanwhile
    expect(timesSaid(bridge, 'KafkaJSConnectionClosedError')).toBe(0);
    for (const token of tokens.issued) expect(bridge.output).not.toContain(token);
    await endsWell(bridge);
  });

  it('continue once the OAuth server is back, and report the missing token meanwhile', async () => {
    const bridge = start(byToken());
    const url = await bridge.ready();
    tokens.fault = 503;
    await untilUnreadyBecause(
      url,
      'there is no token for the login: see KAFKA_SASL_OAUTH_TOKEN_URL',
    );
    tokens.fault = undefined;
    await untilReady(url);
    await delivers();
    for (const token of tokens.issued) expect(bridge.output).not.toContain(token);
    await endsWell(bridge);
  });

  it('use the secret of the OAuth client in its file', async () => {
    const secrets = mounted('client');
    await secrets.write({ secret: `${CLIENT_SECRET}\n` });
    const bridge = start(
      byToken({
        KAFKA_SASL_OAUTH_CLIENT_SECRET: '',
        KAFKA_SASL_OAUTH_CLIENT_SECRET_FILE: secrets.path('secret'),
      }),
    );
    const url = await bridge.ready();
    tokens.secret = 'hunter3-of-the-oauth-client';
    await untilUnreadyBecause(url, 'the credentials are not accepted');
    await secrets.write({ secret: tokens.secret });
    await untilReady(url);
    await delivers();
    expect(bridge.output).not.toContain(tokens.secret);
    tokens.secret = CLIENT_SECRET;
    await endsWell(bridge);
  });

  it('report a refused token in the bridge and in a command', async () => {
    tokens.isForging = true;
    const bridge = start(byToken());
    await untilUnreadyBecause(await bridge.url(), 'the broker refuses the token');
    const { exitCode, stderr } = await runCommand(['dlq', 'list'], {
      topicPrefix,
      env: byToken(),
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('the broker refuses the token');
    tokens.isForging = false;
    await bridge.ready();
    await delivers();
    const listed = await runCommand(['dlq', 'list'], { topicPrefix, env: byToken() });
    expect(listed).toMatchObject({ exitCode: 0, stderr: '' });
    for (const token of tokens.issued) expect(bridge.output).not.toContain(token);
    await endsWell(bridge);
  });

  it('are renewed before the broker ends them, however short its limit', async () => {
    const bridge = start({ ...secured.passwordLogin, KAFKA_SASL_MECHANISM: 'scram-sha-256' });
    const url = await bridge.ready();
    const startedMs = realEpochMs();
    await eventually('three sessions have passed', async () => {
      await delivers();
      return realEpochMs() - startedMs > 3 * MAX_REAUTH_MS;
    });
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    expect(timesSaid(bridge, 'not valid given the current SASL state')).toBe(0);
    expect(timesSaid(bridge, 'KafkaJSConnectionClosedError')).toBe(0);
    await endsWell(bridge);
  });

  it('use the current password of its file', async () => {
    const secrets = mounted('login');
    await secrets.write({ password: PASSWORD });
    const bridge = start({
      ...{ ...secured.passwordLogin, KAFKA_SASL_PASSWORD: '' },
      KAFKA_SASL_PASSWORD_FILE: secrets.path('password'),
    });
    const url = await bridge.ready();
    await delivers();
    const changed = 'hunter4-of-the-plant';
    await secured.setPassword(changed);
    await restartBroker();
    await untilUnreadyBecause(url, 'KAFKA_SASL_PASSWORD is wrong');
    // an empty file is no password
    await secrets.write({ password: '' });
    await eventually(
      'the metric says that a file cannot be used',
      async () => (await unusableFiles(url)) === '1',
    );
    await secrets.write({ password: changed });
    await untilReady(url);
    await delivers();
    expect(await unusableFiles(url)).toBe('0');
    expect(timesSaid(bridge, 'KAFKA_SASL_PASSWORD_FILE names a file that is empty')).toBe(1);
    expect(bridge.output).not.toContain(changed);
    await secured.setPassword(PASSWORD);
    await endsWell(bridge);
  });

  it('use certificate, key and authority in their files, and only matching ones', async () => {
    const files = mounted('tls');
    const identify = (authority: Authority) => authority.identify({ name: 'bridge' });
    const old = identify(secured.authority);
    const first = { ca: secured.authority.certificate, cert: old.certificate, key: old.key };
    await files.write(first);
    const bridge = start({
      ...{ KAFKA_BROKERS: secured.addresses.mutual, KAFKA_SSL: 'true' },
      KAFKA_SSL_CA_FILE: files.path('ca'),
      KAFKA_SSL_CERT_FILE: files.path('cert'),
      KAFKA_SSL_KEY_FILE: files.path('key'),
    });
    const url = await bridge.ready();
    const authority = new Authority('Next CA');
    const next = identify(authority);
    // half of it: the broker restarts with the old ones, so the bridge must keep them
    await files.write({ ...first, cert: next.certificate });
    await restartBroker();
    await untilReady(url);
    await delivers();
    expect(await unusableFiles(url)).toBe('1');
    const problem = 'KAFKA_SSL_KEY_FILE names a file whose key is not that of KAFKA_SSL_CERT_FILE';
    expect(timesSaid(bridge, problem)).toBe(1);
    await secured.trust(authority);
    await files.write({ ca: authority.certificate, cert: next.certificate, key: next.key });
    await restartBroker();
    await untilReady(url);
    await delivers();
    expect(await unusableFiles(url)).toBe('0');
    expect(bridge.output).not.toContain('PRIVATE KEY');
    await endsWell(bridge);
  });
});
