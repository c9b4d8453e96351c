import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realEpochMs } from '#libs/clock';
import { type Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { BridgeProcess } from '../support/bridge-process.js';
import { eventually } from '../support/eventually.js';
import { header, TestKafka, type TopicReader, uniqueTopicPrefix } from '../support/kafka.js';
import { type CommandResult, runCommand } from '../support/run-command.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { Authority, type Identity } from '../support/tls/authority.js';
import {
  PASSWORD,
  type SecuredKafka,
  startSecuredKafka,
  USER,
} from '../support/tls/secured-kafka.js';

const WRONG_PASSWORD = 'hunter3-of-another';
const SECRETS = [PASSWORD, WRONG_PASSWORD].flatMap((password) => [
  password,
  // as PLAIN sends it
  Buffer.from(`\0${USER}\0${password}`).toString('base64'),
]);

describe('a Kafka that asks for TLS and logins', () => {
  const topicPrefix = uniqueTopicPrefix();
  let folder: string;
  let secured: SecuredKafka;
  let sandbox: RunningSandbox;
  let kafka: TestKafka;
  let published: TopicReader;
  let running: BridgeProcess | undefined;
  let files: { ca: string; foreignCa: string; password: string; certificate: string; key: string };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secured-kafka-'));
    secured = await startSecuredKafka(folder);
    sandbox = await startSandbox();
    kafka = new TestKafka([secured.broker.brokers], topicPrefix);
    const { authority, write } = secured;
    const client = authority.identify({ name: 'bridge' });
    files = {
      ca: await write('ca.pem', authority.certificate),
      foreignCa: await write('foreign-ca.pem', new Authority('Another CA').certificate),
      password: await write('password', `${PASSWORD}\n`),
      certificate: await write('client.pem', client.certificate),
      key: await write('client.key', client.key),
    };
  }, 90_000);

  afterEach(() => running?.close());

  afterAll(async () => {
    await kafka.close();
    await sandbox.close();
    await secured.broker.kill();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  /** Over TLS with a user and a password. */
  const byLogin = (env: Environment = {}): Environment => ({
    KAFKA_BROKERS: `localhost:${secured.login.port}`,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: files.ca,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: PASSWORD,
    ...env,
  });

  /** Over TLS with a certificate. */
  const byCertificate = (env: Environment = {}): Environment => ({
    KAFKA_BROKERS: `127.0.0.1:${secured.mutual.port}`,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: files.ca,
    KAFKA_SSL_CERT_FILE: files.certificate,
    KAFKA_SSL_KEY_FILE: files.key,
    ...env,
  });

  const start = (env: Environment): BridgeProcess => {
    running = new BridgeProcess({
      KAFKA_TOPIC_PREFIX: topicPrefix,
      KAFKA_GROUP_ID: `${topicPrefix}bridge`,
      KAFKA_TOPIC_PARTITIONS: '1',
      MACHINE_CLOUD_BASE_URL: sandbox.control.url,
      MACHINE_CLOUD_TOKEN: 'sandbox-token',
      BRIDGE_HTTP_PORT: '0',
      LOG_LEVEL: 'trace',
      ...env,
    });
    return running;
  };

  const command = (env: Environment, ...args: string[]): Promise<CommandResult> =>
    runCommand(args, { topicPrefix, env });

  const sendFile = async (env: Environment, document: object): Promise<CommandResult> => {
    const file = await secured.write('document.json', JSON.stringify(document));
    return command(env, 'send', file);
  };

  /** All that somebody could see of a bridge that runs. */
  const everythingToldBy = async (bridge: BridgeProcess): Promise<string> => {
    const url = await bridge.url();
    const paths = ['/health/ready', '/health/live', '/metrics', '/api/machines'];
    const answers = paths.map(async (path) => (await fetch(`${url}${path}`)).text());
    return [bridge.output, ...(await Promise.all(answers))].join('\n');
  };

  const expectNoSecret = (text: string): void => {
    for (const secret of SECRETS) expect(text).not.toContain(secret);
    expect(text).not.toContain('PRIVATE KEY');
  };

  const outcomeOf = (machineId: string, type: string) =>
    published.find(
      (record) => header(record, 'ce_subject') === machineId && header(record, 'ce_type') === type,
      `${type} of ${machineId}`,
    );

  /** Waits until the bridge is not ready for a reason that says this much. */
  const notReadyBecause = (url: string, why: string): Promise<string> =>
    eventually(
      async () => {
        const answer = await fetch(`${url}/health/ready`);
        const text = await answer.text();
        return answer.status === 503 && text.includes(why) && text;
      },
      { what: `the bridge is not ready: ${why}`, timeoutMs: 60_000 },
    );

  it('is served like any other: lists, reasons, outcomes and states, whichever the login', async () => {
    const bridge = start(
      byLogin({ KAFKA_SASL_PASSWORD: '', KAFKA_SASL_PASSWORD_FILE: files.password }),
    );
    await bridge.ready();
    published = await kafka.read(TOPICS.commandOutcomes, TOPICS.stateChanges);
    const list = { machineId: 'M-001', workingOrders: ['4711', '4712'] };
    const sent = await sendFile(byLogin({ KAFKA_SASL_MECHANISM: 'scram-sha-256' }), list);
    expect(sent).toMatchObject({ exitCode: 0, stderr: '' });
    await sandbox.control.listBecomes('M-001', ['4711', '4712']);
    const startTime = Math.floor(realEpochMs() / 1000) - 600;
    const reason = { machineId: 'M-002', reasonId: '11', startTime };
    const plain = byLogin({ KAFKA_SASL_MECHANISM: 'plain' });
    expect(await sendFile(plain, reason)).toMatchObject({ exitCode: 0, stderr: '' });
    await outcomeOf('M-001', 'work-order-list.applied.v1');
    await outcomeOf('M-002', 'downtime-reason.applied.v1');
    expect((await sandbox.control.machine('M-002')).classifications).toHaveLength(1);
    // published in a transaction, and read by a client that is shown committed ones alone
    await outcomeOf('M-003', 'machine.state.changed.v1');
    expectNoSecret(await everythingToldBy(bridge));
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
  });

  it('is served with a certificate in place of a login, dead letters and their replay included', async () => {
    const bridge = start(byCertificate());
    await bridge.ready();
    const list = { machineId: 'nobody', workingOrders: ['4713'] };
    await kafka.sendJson(TOPICS.workOrderLists, 'nobody', list);
    await outcomeOf('nobody', 'work-order-list.rejected.v1');
    const letters = await command(byCertificate(), 'dlq', 'list', TOPICS.workOrderLists);
    expect(letters).toMatchObject({ exitCode: 0, stderr: '' });
    expect(letters.stdout).toContain('unknown-machine');
    const replay = ['dlq', 'replay', TOPICS.workOrderLists, '--all', '--yes'];
    expect(await command(byLogin(), ...replay)).toMatchObject({ exitCode: 0, stderr: '' });
    const isRejected = (record: { headers: Record<string, unknown> }): boolean =>
      String(record.headers['ce_type']) === 'work-order-list.rejected.v1';
    await published.take(2, isRejected, 'a rejected list');
    expectNoSecret(await everythingToldBy(bridge));
  });

  it.each<[fault: string, says: string, settings: () => Environment]>([
    [
      'a wrong password',
      'KAFKA_SASL_PASSWORD',
      () => byLogin({ KAFKA_SASL_PASSWORD: WRONG_PASSWORD }),
    ],
    [
      'a wrong password, sent as it is',
      'KAFKA_SASL_PASSWORD',
      () => byLogin({ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_PASSWORD: WRONG_PASSWORD }),
    ],
    [
      'no login',
      'KAFKA_SASL_MECHANISM',
      () => byLogin({ KAFKA_SASL_MECHANISM: '', KAFKA_SASL_USERNAME: '', KAFKA_SASL_PASSWORD: '' }),
    ],
    [
      'a login that nobody asked for',
      'unset the KAFKA_SASL_… settings',
      () => byLogin({ ...byCertificate() }),
    ],
    ['no TLS', 'KAFKA_SSL', () => byLogin({ KAFKA_SSL: 'false', KAFKA_SSL_CA_FILE: '' })],
    [
      'TLS where there is none',
      'KAFKA_SSL',
      () => byLogin({ KAFKA_BROKERS: secured.broker.brokers }),
    ],
    [
      'the wrong authority',
      'KAFKA_SSL_CA_FILE',
      () => byLogin({ KAFKA_SSL_CA_FILE: files.foreignCa }),
    ],
    ['no authority', 'KAFKA_SSL_CA_FILE', () => byLogin({ KAFKA_SSL_CA_FILE: '' })],
    [
      'an address where the certificate has a name',
      'certificate is for other hosts',
      () => byLogin({ KAFKA_BROKERS: `127.0.0.1:${secured.login.port}` }),
    ],
    [
      'a name where the certificate has an address',
      'certificate is for other hosts',
      () => byCertificate({ KAFKA_BROKERS: `localhost:${secured.mutual.port}` }),
    ],
    [
      'no client certificate',
      'KAFKA_SSL_CERT_FILE',
      () => byCertificate({ KAFKA_SSL_CERT_FILE: '', KAFKA_SSL_KEY_FILE: '' }),
    ],
  ])('tells a command of %s', async (_, says, settings) => {
    const result = await command(settings(), 'dlq', 'list');
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
    expect(result.stderr).toContain('Kafka cannot be reached');
    expect(result.stderr).toContain(says);
    expectNoSecret(result.stderr);
  });

  it('does not let a file wait for a login that is refused', async () => {
    const wrong = byLogin({ KAFKA_SASL_PASSWORD: WRONG_PASSWORD });
    const sent = await sendFile(wrong, { machineId: 'M-001', workingOrders: [] });
    expect(sent).toMatchObject({ exitCode: 1, stdout: '' });
    expect(sent.stderr).toContain('KAFKA_SASL_PASSWORD');
    expectNoSecret(sent.stderr);
  });

  it.each<[fault: string, says: string, settings: () => Environment]>([
    [
      'a wrong password',
      'KAFKA_SASL_PASSWORD is wrong',
      () => byLogin({ KAFKA_SASL_PASSWORD: WRONG_PASSWORD }),
    ],
    [
      'the wrong authority',
      'KAFKA_SSL_CA_FILE must hold',
      () => byLogin({ KAFKA_SSL_CA_FILE: files.foreignCa }),
    ],
  ])('is waited for with %s, which ready and log tell and nothing gives away', async (...of) => {
    const [, says, settings] = of;
    const bridge = start(settings());
    const url = await bridge.url();
    expect(await notReadyBecause(url, says)).toContain('the topics cannot be prepared');
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect(bridge.output).toMatch(
      new RegExp(
        `"not started yet, will try again".*${says}|${says}.*"not started yet, will try again"`,
      ),
    );
    expectNoSecret(await everythingToldBy(bridge));
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
  });

  it('is given up while it shows a certificate of somebody else, and joined anew with the right one', async () => {
    const url = await start(byLogin()).ready();
    const present = async (identity: Identity): Promise<void> => {
      await secured.login.present(identity);
      await secured.broker.restart();
    };
    const broker = { name: 'broker', hosts: ['localhost'] };
    await present(new Authority('Another CA').identify(broker));
    await notReadyBecause(url, 'KAFKA_SSL_CA_FILE must hold');
    await present(secured.authority.identify({ ...broker, days: -1 }));
    await notReadyBecause(url, 'not valid at this time');
    await present(secured.authority.identify(broker));
    await kafka.sendJson(TOPICS.workOrderLists, 'M-004', {
      machineId: 'M-004',
      workingOrders: ['after'],
    });
    await sandbox.control.listBecomes('M-004', ['after']);
  });
});
