import { realEpochMs } from '#libs/clock';
import type { Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { untilUnreadyBecause } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type CommandResult, runCommand } from '../support/run-command.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { header, type TopicReader } from '../support/topic-reader.js';
import { Authority } from '../support/tls/authority.js';
import {
  PASSWORD,
  type SecuredKafka,
  startSecuredKafka,
  USER,
} from '../support/tls/secured-kafka.js';

const WRONG_PASSWORD = 'hunter3-of-another';
const SECRETS = [PASSWORD, WRONG_PASSWORD].flatMap((password) => [
  password,
  // the form that PLAIN sends
  Buffer.from(`\0${USER}\0${password}`).toString('base64'),
]);

describe('a Kafka that requires TLS and logins', () => {
  const topicPrefix = uniqueTopicPrefix();
  let secured: SecuredKafka;
  let sandbox: RunningSandbox;
  /** A client of the plain port. */
  let kafka: TestKafka;
  let published: TopicReader;
  let running: AppProcess | undefined;
  let files: {
    foreignCa: string;
    password: string;
    client: Environment;
    foreignClient: Environment;
  };

  beforeAll(async () => {
    secured = await startSecuredKafka(temporaryFolder());
    sandbox = await startSandbox();
    kafka = new TestKafka([secured.broker.brokers], topicPrefix);
    const { authority, write } = secured;
    const foreign = new Authority('Another CA');
    files = {
      foreignCa: await write('foreign-ca.pem', foreign.certificate),
      password: await write('password', `${PASSWORD}\n`),
      client: await clientFiles('client', authority),
      foreignClient: await clientFiles('foreign-client', foreign),
    };
  });

  afterEach(() => running?.close());

  afterAll(async () => {
    await kafka.close();
    await sandbox.close();
    await secured.broker.kill();
  });

  /** Writes a client's certificate and key; returns their settings. */
  const clientFiles = async (name: string, authority: Authority): Promise<Environment> => {
    const { certificate, key } = authority.identify({ name });
    return {
      KAFKA_SSL_CERT_FILE: await secured.write(`${name}.pem`, certificate),
      KAFKA_SSL_KEY_FILE: await secured.write(`${name}.key`, key),
    };
  };

  /** Settings for TLS with a user and a password. */
  const byLogin = (env: Environment = {}): Environment => ({ ...secured.passwordLogin, ...env });

  /** Settings with a user and a password, without TLS. */
  const unencrypted = (mechanism: string): Environment =>
    byLogin({
      KAFKA_BROKERS: secured.addresses.unencrypted,
      KAFKA_SSL: '',
      KAFKA_SSL_CA_FILE: '',
      KAFKA_SASL_MECHANISM: mechanism,
    });

  /** Settings for TLS with a certificate. */
  const byCertificate = (env: Environment = {}): Environment => ({
    KAFKA_BROKERS: secured.addresses.mutual,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: secured.caFile,
    ...files.client,
    ...env,
  });

  const start = (env: Environment): AppProcess => {
    const sandboxUrl = sandbox.control.url;
    const common = bridgeEnvironment({ brokers: [], topicPrefix, partitions: 1, sandboxUrl });
    return (running = new AppProcess('bridge', { ...common, LOG_LEVEL: 'trace', ...env }));
  };

  const command = (env: Environment, ...args: string[]): Promise<CommandResult> =>
    runCommand(args, { topicPrefix, env });

  const sendFile = async (env: Environment, document: object): Promise<CommandResult> => {
    const file = await secured.write('document.json', JSON.stringify(document));
    return command(env, 'send', file);
  };

  /** All visible output of a running bridge. */
  const allOutputOf = async (bridge: AppProcess): Promise<string> => {
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
      `${type} of ${machineId}`,
      (record) => header(record, 'ce_subject') === machineId && header(record, 'ce_type') === type,
    );

  it('carries lists, reasons, outcomes and states with every kind of login', async () => {
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
    // published in a transaction, and read by a client that sees only committed records
    await outcomeOf('M-003', 'machine.state.changed.v1');
    expectNoSecret(await allOutputOf(bridge));
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
  });

  it('accepts a certificate instead of a login, also for dead letters and their replay', async () => {
    const bridge = start(byCertificate());
    await bridge.ready();
    await kafka.sendList('nobody', ['4713']);
    await outcomeOf('nobody', 'work-order-list.rejected.v1');
    const deadLetters = await command(byCertificate(), 'dlq', 'list', TOPICS.workOrderLists);
    expect(deadLetters).toMatchObject({ exitCode: 0, stderr: '' });
    expect(deadLetters.stdout).toContain('unknown-machine');
    const replay = ['dlq', 'replay', TOPICS.workOrderLists, '--all', '--yes'];
    expect(await command(byLogin(), ...replay)).toMatchObject({ exitCode: 0, stderr: '' });
    const isRejected = (record: { headers: Record<string, unknown> }): boolean =>
      String(record.headers['ce_type']) === 'work-order-list.rejected.v1';
    await published.findAtLeast(2, 'a rejected list', isRejected);
    const replayed = await command(unencrypted('plain'), 'dlq', 'list');
    expect(replayed).toMatchObject({ exitCode: 0, stderr: '' });
    expect(replayed.stdout).toContain('2 dead letters, 1 replayed');
    expectNoSecret(await allOutputOf(bridge));
  });

  describe('makes a command name the wrong setting', () => {
    const none = { KAFKA_SASL_MECHANISM: '', KAFKA_SASL_USERNAME: '', KAFKA_SASL_PASSWORD: '' };
    const wrong = { KAFKA_SASL_PASSWORD: WRONG_PASSWORD };
    const renamed = (address: string): Environment => ({
      KAFKA_BROKERS: address.replace(/^[^:]+/, (host) =>
        host === 'localhost' ? '127.0.0.1' : 'localhost',
      ),
    });
    const faults: Record<string, [settings: () => Environment, says: string]> = {
      'a wrong password': [() => byLogin(wrong), 'KAFKA_SASL_PASSWORD is wrong'],
      'a wrong password with the mechanism plain': [
        () => byLogin({ ...wrong, KAFKA_SASL_MECHANISM: 'plain' }),
        'KAFKA_SASL_PASSWORD is wrong',
      ],
      'a missing login': [() => byLogin(none), 'KAFKA_SASL_MECHANISM'],
      'a login that the port does not request': [
        () => byLogin(byCertificate()),
        'unset the KAFKA_SASL_… settings',
      ],
      'a mechanism that is not offered': [
        () => unencrypted('scram-sha-512'),
        'does not offer what KAFKA_SASL_MECHANISM names',
      ],
      'missing TLS': [
        () => byLogin({ KAFKA_SSL: 'false', KAFKA_SSL_CA_FILE: '' }),
        'its port expects another KAFKA_SSL',
      ],
      'TLS on a port without TLS': [
        () => byLogin({ KAFKA_BROKERS: secured.broker.brokers }),
        'no TLS could be agreed on',
      ],
      'the wrong authority': [
        () => byLogin({ KAFKA_SSL_CA_FILE: files.foreignCa }),
        'KAFKA_SSL_CA_FILE must hold',
      ],
      'a missing authority': [
        () => byLogin({ KAFKA_SSL_CA_FILE: '' }),
        'KAFKA_SSL_CA_FILE must hold',
      ],
      'an address where the certificate has a name': [
        () => byLogin(renamed(secured.addresses.login)),
        'certificate is for other hosts: KAFKA_BROKERS',
      ],
      'a name where the certificate has an address': [
        () => byCertificate(renamed(secured.addresses.mutual)),
        'certificate is for other hosts: KAFKA_BROKERS',
      ],
      'an expired certificate of the broker': [
        () => byCertificate({ KAFKA_BROKERS: secured.addresses.expired }),
        'is not valid at this time',
      ],
      'a missing client certificate': [
        () => byCertificate({ KAFKA_SSL_CERT_FILE: '', KAFKA_SSL_KEY_FILE: '' }),
        'asks for a certificate',
      ],
      'a client certificate of a foreign authority': [
        () => byCertificate(files.foreignClient),
        'does not accept this one: see KAFKA_SSL_CERT_FILE',
      ],
    };
    const results = new Map<string, CommandResult>();

    // Each command mostly waits for the last of its retries, so all run at once.
    beforeAll(async () => {
      const commands = Object.entries(faults).map(async ([fault, [settings]]) => {
        results.set(fault, await command(settings(), 'dlq', 'list'));
      });
      await Promise.all(commands);
    });

    it.each(Object.entries(faults))('%s', (fault, [, says]) => {
      const { exitCode, stdout, stderr } = results.get(fault)!;
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toContain('Kafka cannot be reached');
      expect(stderr).toContain(says);
      expectNoSecret(stderr);
    });
  });

  it('makes send fail at once with a refused login', async () => {
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
  ])(
    'is awaited with %s, which /health/ready and the log report without a secret',
    async (...of) => {
      const [, says, settings] = of;
      const bridge = start(settings());
      const url = await bridge.url();
      expect(await untilUnreadyBecause(url, says)).toContain('the topics cannot be prepared');
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      // output of a process may arrive after its answer
      const line = await eventually('the log says that the bridge has not started', () =>
        bridge.output.split('\n').find((each) => each.includes('not started yet')),
      );
      expect(line).toContain(says);
      expectNoSecret(await allOutputOf(bridge));
      bridge.kill('SIGTERM');
      expect(await bridge.exitCode()).toBe(0);
    },
  );

  it('is awaited too when it suddenly presents another certificate', async () => {
    // A reader would outlive the broker, and still look for it after the test.
    await kafka.close();
    const bridge = start(byLogin());
    const url = await bridge.ready();
    const foreign = new Authority('Another CA');
    await secured.present(foreign.identify({ name: 'broker', hosts: ['localhost'] }));
    await secured.broker.kill();
    await secured.broker.restart();
    await untilUnreadyBecause(url, 'KAFKA_SSL_CA_FILE must hold');
    expectNoSecret(await allOutputOf(bridge));
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
  });
});
