import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { Kafka, logLevel } from '#libs/kafkajs-patches';
import { ensureTopics } from '../client/ensure-topics.js';
import { stockKafka, testBrokers } from '../testing/stock-client.js';
import { eventually } from '../testing/wait.js';
import { SupervisedConsumer } from './supervised-consumer.js';

/** Inside kafkajs: to see requests to join. */
interface BrokerClass {
  prototype: { joinGroup: (request: { groupId: string }) => Promise<unknown> };
}
const Broker = createRequire(import.meta.url)('kafkajs/src/broker/index.js') as BrokerClass;
const { joinGroup } = Broker.prototype;

describe('a member that stops while its request to join is unanswered', () => {
  const consumers: SupervisedConsumer[] = [];
  let topic: string;
  let joins: number;
  let endDrain = (): void => undefined;

  beforeEach(async () => {
    topic = `test-${randomUUID().slice(0, 8)}.leaving`;
    joins = 0;
    Broker.prototype.joinGroup = function (request) {
      if (request.groupId === topic) joins += 1;
      return joinGroup.call(this, request);
    };
    const admin = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
    const topics = [{ name: topic, cleanupPolicy: 'delete' as const }];
    await ensureTopics(admin, topics, { create: true, partitions: 2 });
  });

  afterEach(async () => {
    Broker.prototype.joinGroup = joinGroup;
    endDrain();
    await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
  });

  /** Joins as `name`, with which the id of the member begins. */
  const join = (name: string, drain = (): Promise<void> => Promise.resolve()) => {
    const owned: string[] = [];
    const kafka = new Kafka({ brokers: testBrokers, clientId: name, logLevel: logLevel.NOTHING });
    const consumer = new SupervisedConsumer(kafka, topic, {
      onBatch: () => undefined,
      onAssigned: (assignment) => owned.push([...assignment.values()].flat().join()),
      onRevoking: drain,
      onMembershipConfirmed: () => undefined,
      onEnds: () => undefined,
    });
    consumers.push(consumer);
    consumer.start([topic]);
    return { consumer, owned };
  };

  /** Joins as `busy`, and then keeps every rebalance waiting. */
  const joinBusy = async () => {
    let isBusy = false;
    const drained = new Promise<void>((resolve) => (endDrain = resolve));
    const busy = join('busy', () => (isBusy ? drained : Promise.resolve()));
    await eventually('the busy one owns all', () => busy.owned.at(-1) === '0,1');
    return { ...busy, keepWaiting: () => (isBusy = true) };
  };

  const memberNames = async (): Promise<string[]> => {
    const admin = stockKafka.admin();
    await admin.connect();
    const { groups } = await admin.describeGroups([topic]);
    await admin.disconnect();
    return (groups[0]?.members ?? []).map(({ memberId }) => memberId.split('-')[0]!).sort();
  };

  it('leaves the group at once if it was a member: the others need not wait for its session to end', async () => {
    const busy = await joinBusy();
    const leaving = join('leaving');
    await eventually('they share', () => leaving.owned.length > 0);
    busy.keepWaiting();
    joins = 0;
    const third = join('third');
    await eventually('both have asked to join', () => joins === 2);
    await leaving.consumer.stop();
    expect(await memberNames()).toEqual(['busy', 'third']);
    endDrain();
    await eventually('the third has a share', () => third.owned.length > 0);
  });

  it('leaves the group if it is new', async () => {
    const busy = await joinBusy();
    busy.keepWaiting();
    const leaving = join('leaving');
    await eventually('it is known', async () => (await memberNames()).length === 2);
    await leaving.consumer.stop();
    expect(await memberNames()).toEqual(['busy']);
  });
});
