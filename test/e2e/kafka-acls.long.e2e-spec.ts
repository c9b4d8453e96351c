import { readFileSync } from 'node:fs';
import { realDelayMs } from '#libs/clock';
import { INTERNAL_TOPICS, TOPICS } from '#libs/contracts';
import { type LocalKafka, startLocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { eventually } from '../support/eventually.js';
import { untilReady, untilUnreadyBecause } from '../support/health.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { RunningIngest } from '../support/running-ingest.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { RunningTerminal } from '../support/running-terminal.js';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} from '../support/stock-kafkajs.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { PASSWORD, PLAIN_LOGIN, USER } from '../support/tls/secured-kafka.js';
import { withAdmin } from '../support/with-admin.js';

/** A user has the rights of its ACLs; a client of the plain port has all rights. */
const AUTHORIZER = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS',
};
const RESOURCES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  transactional: AclResourceTypes.TRANSACTIONAL_ID,
};
const OPERATIONS = {
  Alter: AclOperationTypes.ALTER,
  Create: AclOperationTypes.CREATE,
  Delete: AclOperationTypes.DELETE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
};
type Right = readonly [resource: keyof typeof RESOURCES, operation: keyof typeof OPERATIONS];

/** The kind of resource and the names of rights in each row of the table in docs/kafka.md. */
function documentedRights(): Right[] {
  const [, table = ''] = readFileSync('docs/kafka.md', 'utf8').split('## ACLs');
  return [...table.matchAll(/^\| (.*?) \| (.*) \|$/gm)]
    .slice(2)
    .flatMap(([, what = '', rights = '']) => {
      const [resource = 'topic'] = /group|transactional/.exec(what) ?? [];
      const names = Object.keys(OPERATIONS).filter((name) =>
        new RegExp(`\\b${name}\\b`).test(rights),
      );
      return names.map((name) => [resource, name] as Right);
    });
}

describe('the rights in docs/kafka.md', () => {
  let topicPrefix: string;
  let broker: LocalKafka;
  let admin: Kafka;
  let sandbox: RunningSandbox;
  let kafka: TestKafka;
  let bridge: AppProcess | undefined;

  beforeAll(async () => {
    const login = { name: 'LOGIN', protocol: 'SASL_PLAINTEXT', security: PLAIN_LOGIN } as const;
    broker = await startLocalKafka({
      dir: temporaryFolder(),
      listeners: [login],
      properties: AUTHORIZER,
    });
    admin = new Kafka({ brokers: [broker.brokers], logLevel: logLevel.NOTHING });
    sandbox = await startSandbox();
  });

  afterAll(async () => {
    await sandbox.close();
    await broker.kill();
  });

  beforeEach(() => {
    topicPrefix = uniqueTopicPrefix();
    kafka = new TestKafka([broker.brokers], topicPrefix);
  });

  afterEach(async () => {
    await bridge?.close();
    bridge = undefined;
    await kafka.close();
  });

  const aclOf = ([resource, operation]: Right) => ({
    resourceType: RESOURCES[resource],
    resourceName: topicPrefix,
    resourcePatternType: ResourcePatternTypes.PREFIXED,
    principal: `User:${USER}`,
    host: '*',
    operation: OPERATIONS[operation],
    permissionType: AclPermissionTypes.ALLOW,
  });

  const login = () => ({
    KAFKA_BROKERS: `127.0.0.1:${broker.ports['LOGIN']}`,
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: PASSWORD,
  });

  const startWith = async (rights: readonly Right[]): Promise<string> => {
    await withAdmin(admin, (asAdmin) => asAdmin.createAcls({ acl: rights.map(aclOf) }));
    const sandboxUrl = sandbox.control.url;
    bridge = new AppProcess('bridge', {
      ...bridgeEnvironment({ brokers: [], topicPrefix, partitions: 2, sandboxUrl }),
      ...login(),
    });
    return bridge.url();
  };

  it('are enough for topics, messages of all kinds, and an input that grows', async () => {
    const rights = documentedRights();
    expect(rights).toHaveLength(10);
    await untilReady(await startWith(rights));
    const outcomes = await kafka.read(TOPICS.commandOutcomes, `${TOPICS.workOrderLists}.dlq`);
    await kafka.sendList('M-001', ['4711']);
    await kafka.sendJson(TOPICS.workOrders, '4712', {
      ...{ orderId: '4712', changedAt: 1_763_680_000, status: 'released' },
      operations: [{ operationId: '10', machineId: 'M-002', status: 'released' }],
    });
    await kafka.sendJson(TOPICS.downtimeReasons, 'M-001', {
      ...{ machineId: 'M-001', reasonId: '22', startTime: 1_763_680_000, endTime: 1_763_680_060 },
    });
    await kafka.send(TOPICS.workOrderLists, { key: 'M-001', value: 'no JSON' });
    await eventually('all is answered', () => outcomes.records.length === 5);
    await withAdmin(admin, (asAdmin) =>
      asAdmin.createPartitions({
        topicPartitions: [{ topic: `${topicPrefix}${TOPICS.workOrderLists}`, count: 3 }],
      }),
    );
    await bridge?.untilOutputMatches(
      /"msg":"(partitions added)"/,
      'the bridge has widened its state',
    );
    expect(bridge?.output).not.toMatch(/not authorized|AUTHORIZATION_FAILED/i);
  });

  it.each([
    [['topic', 'Create'], 'a right is missing: Create'],
    [['topic', 'Read'], 'Read or Describe on'],
    [['topic', 'Write'], 'Write or Describe on'],
    [['group', 'Read'], 'Read on groups whose names begin with that of KAFKA_GROUP_ID'],
    [['transactional', 'Write'], 'Write and Describe on transactional ids'],
  ] as const)('are needed: without %j the bridge is unready and names it', async (left, why) => {
    const [resource, operation] = left;
    const isLeft = (right: Right): boolean => right[0] === resource && right[1] === operation;
    const isImplied = (right: Right): boolean => right[0] === resource && right[1] === 'Describe';
    const others = documentedRights().filter((right) => !isLeft(right) && !isImplied(right));
    await untilUnreadyBecause(await startWith(others), why);
  });

  /** Grants all rights except one on one topic. */
  const grantAllBut = (operation: Right[1], name: string): Promise<unknown> => {
    const denied = {
      ...{ ...aclOf(['topic', operation]), resourceName: `${topicPrefix}${name}` },
      ...{ resourcePatternType: ResourcePatternTypes.LITERAL },
      permissionType: AclPermissionTypes.DENY,
    };
    const acl = [...documentedRights().map(aclOf), denied];
    return withAdmin(admin, (asAdmin) => asAdmin.createAcls({ acl }));
  };

  it.each([
    ['an input', TOPICS.workOrderLists],
    ['receipts', INTERNAL_TOPICS.ingestReceipts],
  ])('are named to senders of ingest when Write on %s is missing', async (_, name) => {
    await grantAllBut('Write', name);
    const ingest = await RunningIngest.start(topicPrefix, login());
    try {
      await ingest.ready();
      await eventually('the right is named', async () => {
        const answer = await ingest.post('/lists', { machineId: 'M-001', workingOrders: ['1'] });
        expect(answer.status).toBe(503);
        return (await answer.text()).includes('Write or Describe on');
      });
    } finally {
      await ingest.close();
    }
  });

  it('are named by a terminal as long as it may not read one of its topics', async () => {
    await grantAllBut('Read', TOPICS.downtimeReasons);
    const terminal = await RunningTerminal.start(topicPrefix, login());
    try {
      await untilUnreadyBecause(terminal.url, 'Read or Describe on');
      const statuses: number[] = [];
      while (statuses.length < 50) {
        statuses.push((await fetch(`${terminal.url}/health/ready`)).status);
        await realDelayMs(50);
      }
      expect(new Set(statuses)).toEqual(new Set([503]));
    } finally {
      await terminal.close();
    }
  });

  it.each([
    { right: 'Read', when: 'since before the start', order: '4711', startTime: 1_763_680_000 },
    { right: 'Read', when: 'while it runs', order: '4712', startTime: 1_763_690_000 },
    { right: 'Describe', when: 'while it runs', order: '4713', startTime: 1_763_700_000 },
    { right: 'Describe', when: 'since before the start', order: '4714', startTime: 1_763_710_000 },
  ] as const)('stop only their own input: $right is missing $when', async (row) => {
    const { right, when, order, startTime } = row;
    const unreadable = `${topicPrefix}${TOPICS.downtimeReasons}`;
    const denied = {
      ...aclOf(['topic', right]),
      resourceName: unreadable,
      resourcePatternType: ResourcePatternTypes.LITERAL,
      permissionType: AclPermissionTypes.DENY,
    };
    const deny = () => withAdmin(admin, (asAdmin) => asAdmin.createAcls({ acl: [denied] }));
    if (when === 'since before the start') await deny();
    const url = await startWith(documentedRights());
    if (when === 'while it runs') {
      await untilReady(url);
      await deny();
    }
    await untilUnreadyBecause(url, `Read or Describe on ${unreadable}`);
    await kafka.sendJson(TOPICS.downtimeReasons, 'M-001', {
      ...{ machineId: 'M-001', reasonId: '22', startTime, endTime: startTime + 60 },
    });
    await kafka.sendList('M-001', [order]);
    await sandbox.control.listBecomes('M-001', [order]);

    await withAdmin(admin, (asAdmin) => asAdmin.deleteAcls({ filters: [denied] }));
    await eventually(`the reason from ${startTime} has arrived`, async () => {
      const { classifications } = await sandbox.control.machine('M-001');
      return classifications.some((each) => each.startTime === startTime);
    });
    await untilReady(url);
  });
});
