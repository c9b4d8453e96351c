import { TOPICS } from '#libs/contracts';
import { type LocalKafka, startLocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { eventually } from '../support/eventually.js';
import { untilReady, untilUnreadyBecause } from '../support/health.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} from '../support/stock-kafkajs.js';
import { temporaryFolder } from '../support/temporary-files.js';
import { PASSWORD, PLAIN_LOGIN, USER } from '../support/tls/secured-kafka.js';
import { withAdmin } from '../support/with-admin.js';

/** A user may do what no ACL speaks of; who comes through the plain port, anything. */
const AUTHORIZER = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS',
  'allow.everyone.if.no.acl.found': 'true',
};

describe('an input topic that the bridge may not read', () => {
  const topicPrefix = uniqueTopicPrefix();
  const unreadable = `${topicPrefix}${TOPICS.downtimeReasons}`;
  const acl = {
    resourceType: AclResourceTypes.TOPIC,
    resourceName: unreadable,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${USER}`,
    host: '*',
    operation: AclOperationTypes.DESCRIBE,
    permissionType: AclPermissionTypes.ALLOW,
  };
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
    kafka = new TestKafka([broker.brokers], topicPrefix);
  });

  afterAll(async () => {
    await bridge?.close();
    await kafka.close();
    await sandbox.close();
    await broker.kill();
  });

  const start = (): AppProcess => {
    const sandboxUrl = sandbox.control.url;
    return new AppProcess('bridge', {
      ...bridgeEnvironment({ brokers: [], topicPrefix, partitions: 3, sandboxUrl }),
      KAFKA_BROKERS: `127.0.0.1:${broker.ports['LOGIN']}`,
      KAFKA_SASL_MECHANISM: 'plain',
      KAFKA_SASL_USERNAME: USER,
      KAFKA_SASL_PASSWORD: PASSWORD,
    });
  };

  it.each([
    { when: 'since before the start', order: '4711', startTime: 1_763_680_000 },
    { when: 'since it was forbidden', order: '4712', startTime: 1_763_690_000 },
  ])('waits $when, and it alone, until it may be read', async ({ order, startTime }) => {
    await withAdmin(admin, (asAdmin) => asAdmin.createAcls({ acl: [acl] }));
    bridge ??= start();
    const url = await bridge.url();
    await untilUnreadyBecause(url, `Read or Describe on ${unreadable}`);
    await kafka.sendJson(TOPICS.downtimeReasons, 'M-001', {
      ...{ machineId: 'M-001', reasonId: '22', startTime, endTime: startTime + 60 },
    });
    const workingOrders = [order];
    await kafka.sendJson(TOPICS.workOrderLists, 'M-001', { machineId: 'M-001', workingOrders });
    await sandbox.control.listBecomes('M-001', workingOrders);

    await withAdmin(admin, (asAdmin) => asAdmin.deleteAcls({ filters: [acl] }));
    await eventually(
      async () => {
        const { classifications } = await sandbox.control.machine('M-001');
        return classifications.some((each) => each.startTime === startTime);
      },
      { what: `the reason from ${startTime} has arrived` },
    );
    await untilReady(url);
  });
});
