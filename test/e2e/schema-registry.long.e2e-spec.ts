import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Ajv, type ValidateFunction } from 'ajv';
import avro from 'avsc';
import protobuf from 'protobufjs';
import { TOPICS } from '#libs/contracts';
import {
  type LocalRegistry,
  startLocalRegistry,
} from '../../tools/schema-registry/local-registry.mjs';
import { eventually } from '../support/eventually.js';
import { untilReady, untilUnreadyBecause } from '../support/health.js';
import { type Plant, startPlant } from '../support/plant.js';
import { RunningTerminal } from '../support/running-terminal.js';
import { runCommand, RunningCommand } from '../support/run-command.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const AVRO_LIST = {
  type: 'record',
  name: 'WorkOrderList',
  namespace: 'com.example.erp',
  fields: [
    { name: 'machineId', type: 'string' },
    { name: 'workingOrders', type: { type: 'array', items: 'string' } },
    {
      name: 'issuedAt',
      type: ['null', { type: 'long', logicalType: 'timestamp-millis' }],
      default: null,
    },
  ],
} as const;

const PROTO_LIST = `syntax = "proto3";
package erp;
import "google/protobuf/timestamp.proto";
message WorkOrderList {
  string machine_id = 1;
  repeated string working_orders = 2;
  google.protobuf.Timestamp issued_at = 3;
}
`;
const PROTO_LISTS = `syntax = "proto3";
package erp;
import "list.proto";
message Nothing {}
message WorkOrderLists {
  repeated WorkOrderList machines = 1;
}
`;

/** The descriptor of `erp.WorkOrderList` with its first two fields, from protoc. */
const LIST_DESCRIPTOR =
  'CgpsaXN0LnByb3RvEgNlcnAiOwoNV29ya09yZGVyTGlzdBISCgptYWNoaW5lX2lkGAEgASgJEhYKDndvcmtpbmdfb3' +
  'JkZXJzGAIgAygJYgZwcm90bzM=';

/** The registry is downloaded once: 140 MB. */
const FETCH_TIMEOUT_MS = 600_000;

describe('input framed for a schema registry', () => {
  let registry: LocalRegistry;
  let way: Way;
  let plant: Plant;
  let published: TopicReader;

  beforeAll(async () => {
    registry = await startLocalRegistry();
    way = await Way.to(registry.port);
    plant = await startPlant({ env: { KAFKA_SCHEMA_REGISTRY_URL: way.urlFor(registry.url) } });
    published = await plant.kafka.read(TOPICS.commandOutcomes, `${TOPICS.workOrderLists}.dlq`);
  }, FETCH_TIMEOUT_MS);

  afterAll(async () => {
    await plant.close();
    await way.close();
    await registry.kill();
  });

  /** Registers as a serializer does; returns the id. */
  const register = async (subject: string, schema: object): Promise<number> => {
    const answer = await fetch(`${registry.url}/subjects/${subject}/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify(schema),
    });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { id: number }).id;
  };

  const registerAvro = (schema: object): Promise<number> =>
    register(`${(schema as { name: string }).name}-value`, { schema: JSON.stringify(schema) });

  const sendLists = (...messages: { value: string | Buffer; partition: number; id?: string }[]) =>
    plant.kafka.send(
      TOPICS.workOrderLists,
      ...messages.map(({ id, ...message }) => ({
        key: 'k',
        ...message,
        headers: id === undefined ? {} : { 'message-id': id },
      })),
    );

  const inAvro = (id: number, machineId: string, order: string): Buffer => {
    const type = avro.Type.forSchema(AVRO_LIST as unknown as avro.Schema, { wrapUnions: false });
    const issuedAt = null;
    return framed(id, type.toBuffer({ machineId, workingOrders: [order], issuedAt }));
  };

  it('is applied in Avro, even after a restart', async () => {
    const id = await registerAvro(AVRO_LIST);
    await sendLists({ value: inAvro(id, 'M-001', 'avro'), partition: 0 });
    await plant.sandbox.listBecomes('M-001', ['avro']);
    await plant.restartBridge();
    await sendLists({ value: inAvro(id, 'M-001', 'again'), partition: 0 });
    await plant.sandbox.listBecomes('M-001', ['again']);
  });

  const outcomeOf = async (messageId: string): Promise<Record<string, unknown>> =>
    json(await published.outcomeOf(messageId));

  it('is applied in Protobuf, with referenced schemas', async () => {
    await register('list.proto', { schemaType: 'PROTOBUF', schema: PROTO_LIST });
    const id = await register('WorkOrderLists-value', {
      schemaType: 'PROTOBUF',
      schema: PROTO_LISTS,
      references: [{ name: 'list.proto', subject: 'list.proto', version: 1 }],
    });
    const { root } = protobuf.parse(PROTO_LIST, { keepCase: true });
    protobuf.parse(PROTO_LISTS, root, { keepCase: true });
    root.addJSON(protobuf.common.get('google/protobuf/timestamp.proto')?.nested ?? {});
    const type = root.lookupType('erp.WorkOrderLists');
    const machines = [
      { machine_id: 'M-002', working_orders: ['proto'] },
      { machine_id: 'M-003', working_orders: [] },
    ];
    await sendLists({
      value: JSON.stringify({ machineId: 'M-003', workingOrders: ['before'] }),
      partition: 0,
    });
    await plant.sandbox.listBecomes('M-003', ['before']);
    // the second message of the schema
    const payload = [Buffer.from([2, 2]), type.encode(type.fromObject({ machines })).finish()];
    await sendLists({ value: framed(id, Buffer.concat(payload)), partition: 0 });
    await plant.sandbox.listBecomes('M-002', ['proto']);
    await plant.sandbox.listBecomes('M-003', []);
  });

  it('is applied in Protobuf with a descriptor as its schema', async () => {
    const schema = { schemaType: 'PROTOBUF', schema: LIST_DESCRIPTOR };
    const id = await register('Descriptor-value', schema);
    const kept = await fetch(`${registry.url}/schemas/ids/${id}`);
    expect(await kept.json()).toMatchObject({ schema: LIST_DESCRIPTOR });
    const { root } = protobuf.parse(PROTO_LIST, { keepCase: true });
    root.addJSON(protobuf.common.get('google/protobuf/timestamp.proto')?.nested ?? {});
    const type = root.lookupType('erp.WorkOrderList');
    const list = type.fromObject({ machine_id: 'M-004', working_orders: ['descriptor'] });

    const payload = Buffer.concat([Buffer.from([0]), type.encode(list).finish()]);
    await sendLists({ value: framed(id, payload), partition: 0 });
    await plant.sandbox.listBecomes('M-004', ['descriptor']);
  });

  it('is rejected unchanged when the registry does not have its schema', async () => {
    const value = inAvro(99_999, 'M-005', 'unknown');
    await sendLists({ value, partition: 0, id: 'unknown-schema' });
    const why = 'schema id 99999, cannot be used: the registry has none (HTTP 404 (40403))';
    await expect(outcomeOf('unknown-schema')).resolves.toMatchObject({
      code: 'invalid-message',
      detail: expect.stringContaining(why) as string,
    });
    const deadLetter = await published.find(
      'the dead letter',
      (record) => header(record, 'message-id') === 'unknown-schema',
    );
    expect(deadLetter.value).toEqual(value);
    expect(header(deadLetter, 'dlq-code')).toBe('invalid-message');
  });

  it('waits in order while the registry is away, and delays nothing else', async () => {
    const id = await registerAvro(AVRO_LIST);
    // the bridge forgets the schemas that it has read
    await plant.restartBridge();
    way.cut();
    await registry.kill();
    await sendLists(
      { value: JSON.stringify({ machineId: 'M-006', workingOrders: ['ahead'] }), partition: 0 },
      { value: inAvro(id, 'M-006', 'first'), partition: 0, id: 'first' },
      { value: inAvro(id, 'M-007', 'second'), partition: 0, id: 'second' },
      { value: JSON.stringify({ machineId: 'M-006', workingOrders: ['behind'] }), partition: 0 },
      { value: JSON.stringify({ machineId: 'M-008', workingOrders: ['other'] }), partition: 1 },
    );
    await plant.sandbox.listBecomes('M-006', ['ahead']);
    await plant.sandbox.listBecomes('M-008', ['other']);
    await untilUnreadyBecause(plant.bridgeUrl, 'messages wait for their schemas: ');
    const flows = await fetch(`${plant.bridgeUrl}/api/flows`);
    expect(await flows.text()).toContain('"why":"schema registry: ');
    await eventually('it is tried again', async () => (await metric('unavailable')) >= 3);

    await registry.restart();
    // its ids restart, and this one was the first
    expect(await registerAvro(AVRO_LIST)).toBe(id);
    way.restore();
    await plant.sandbox.listBecomes('M-007', ['second']);
    await plant.sandbox.listBecomes('M-006', ['behind']);
    await untilReady(plant.bridgeUrl);
    const calls = JSON.stringify(await plant.sandbox.calls('setWorkOrderList'));
    expect(calls.indexOf('first')).toBeLessThan(calls.indexOf('behind'));
  });

  const metric = async (result: string): Promise<number> => {
    const text = await (await fetch(`${plant.bridgeUrl}/metrics`)).text();
    const name = `machine_bridge_schema_registry_requests_total{result="${result}"} `;
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(name))
        ?.slice(name.length) ?? 0,
    );
  };
});

describe('outputs framed for a schema registry', () => {
  const OUTPUTS = [TOPICS.stateChanges, TOPICS.states, TOPICS.commandOutcomes];
  let registry: LocalRegistry;
  let plant: Plant;
  let published: TopicReader;

  beforeAll(async () => {
    registry = await startLocalRegistry();
    const env = {
      KAFKA_SCHEMA_REGISTRY_URL: registry.url,
      KAFKA_SCHEMA_REGISTRY_OUTPUTS: 'state-events,latest-states,outcomes',
    };
    plant = await startPlant({ env });
    published = await plant.kafka.read(...OUTPUTS);
  }, FETCH_TIMEOUT_MS);

  afterAll(async () => {
    await plant.close();
    await registry.kill();
  });

  const subjectOf = (topic: string): string => `${plant.kafka.topicPrefix}${topic}-value`;

  const ask = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${registry.url}${path}`, {
      method,
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      ...(body && { body: JSON.stringify(body) }),
    });

  const sendList = (machineId: string, id: string) =>
    plant.kafka.sendList(machineId, [id], { 'message-id': id });

  const settings = (): Record<string, string> => ({
    KAFKA_GROUP_ID: plant.groupId,
    MACHINE_CLOUD_BASE_URL: plant.sandbox.url,
    MACHINE_CLOUD_TOKEN: 'sandbox-token',
    KAFKA_SCHEMA_REGISTRY_URL: registry.url,
    KAFKA_SCHEMA_REGISTRY_OUTPUTS: 'state-events,latest-states,outcomes',
    KAFKA_TOPIC_PARTITIONS: '3',
    ...plant.clockEnv,
  });

  const command = (...args: string[]) =>
    runCommand(args, { topicPrefix: plant.kafka.topicPrefix, env: settings() });

  /** Validates as a deserializer does: with the schema that the registry has for the id. */
  const expectFramed = async (records: readonly ReadRecord[]): Promise<void> => {
    const validators = new Map<number, ValidateFunction>();
    for (const { topic, value } of records) {
      if (value === null) continue;
      expect([topic, value[0]]).toEqual([topic, 0]);
      const id = value.readUInt32BE(1);
      let validate = validators.get(id);
      if (validate === undefined) {
        const { schema } = (await (await ask('GET', `/schemas/ids/${id}`)).json()) as {
          schema: string;
        };
        validate = new Ajv({ allowUnionTypes: true, strict: false }).compile(
          JSON.parse(schema) as object,
        );
        validators.set(id, validate);
      }
      expect([validate(JSON.parse(value.toString('utf8', 5))), validate.errors]).toEqual([
        true,
        null,
      ]);
    }
  };

  it('have the id of their schema in the registry, and conform to it', async () => {
    await sendList('M-001', 'framed');
    const outcome = await published.outcomeOf('framed');
    await sendList('no such machine', 'refused');
    await published.outcomeOf('refused');
    await published.findAtLeast(12, 'state event', ({ topic }) => topic === TOPICS.stateChanges);
    await published.findAtLeast(12, 'latest state', ({ topic }) => topic === TOPICS.states);
    await expectFramed(published.records);
    const latest = await ask(
      'GET',
      `/subjects/${subjectOf(TOPICS.commandOutcomes)}/versions/latest`,
    );
    expect(await latest.json()).toMatchObject({
      id: outcome.value?.readUInt32BE(1),
      schemaType: 'JSON',
    });
  });

  it('are read by the bridge and by its commands and terminal', async () => {
    const history = await fetch(`${plant.bridgeUrl}/api/outcomes?messageId=framed`);
    expect(await history.json()).toMatchObject({
      outcomes: [{ machineId: 'M-001', workingOrders: ['framed'] }],
    });
    const machines = await command('machines', '--json');
    expect(machines.stdout.trim().split('\n')).toHaveLength(12);
    // each with its latest state
    expect(machines.stdout.match(/"sequence":[1-9]/g)).toHaveLength(12);
    const watching = new RunningCommand(['watch', '--since', '0', '--json'], {
      topicPrefix: plant.kafka.topicPrefix,
      env: settings(),
    });
    await watching.untilOutputMatches(/"workingOrders":\["framed"\]/);
    await watching.untilOutputMatches(/"type":"machine\.state\.changed\.v1".*"data":\{"machineId"/);
    watching.kill('SIGINT');
    expect((await watching.result()).exitCode).toBe(0);
    const terminal = await RunningTerminal.start(plant.kafka.topicPrefix, plant.clockEnv);
    try {
      await terminal.ready();
      await eventually('the terminal has states and orders', async () => {
        const text = await (await terminal.request('GET', '/api/machines/M-001')).text();
        // the state depends on the time of day
        return /"state":"(OPERATING|IDLE|OFF)"/.test(text) && text.includes('"framed"');
      });
    } finally {
      await terminal.close();
    }
  });

  it('wait while the registry refuses their schema', async () => {
    await registry.restart();
    const subject = subjectOf(TOPICS.commandOutcomes);
    const other = { type: 'object', properties: { code: { type: 'boolean' } } };
    const body = { schemaType: 'JSON', schema: JSON.stringify(other) };
    expect((await ask('POST', `/subjects/${subject}/versions`, body)).status).toBe(200);
    const level = (compatibility: string) => ask('PUT', `/config/${subject}`, { compatibility });
    expect((await level('FULL')).status).toBe(200);
    const check = await command('config', 'check');
    expect(check.exitCode).toBe(1);
    expect(check.stdout).toMatch(/ok {4}schema of state-events +the bridge registers it/);
    expect(check.stdout).toMatch(/fail {2}schema of outcomes +not compatible with the latest one/);
    await plant.restartBridge({}, { untilReady: false });
    await sendList('M-003', 'after a refusal');
    const refused = `the registry refuses the schema of ${subject}: HTTP 409`;
    await untilUnreadyBecause(plant.bridgeUrl, refused);
    expect((await level('NONE')).status).toBe(200);
    const outcome = await published.outcomeOf('after a refusal');
    await expectFramed([outcome]);
    const checkedAgain = await command('config', 'check');
    expect(checkedAgain.stdout).toMatch(/ok {4}schema of outcomes +registered as /);
  });
});

function framed(id: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, payload]);
}

/** A relay to the registry that the test can cut. */
class Way {
  private isCut = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    server.on('connection', (client: Socket) => {
      this.sockets.add(client.on('error', () => undefined));
      if (this.isCut) {
        client.destroy();
        return;
      }
      const target = connect(port, '127.0.0.1').on('error', () => client.destroy());
      client.on('close', () => target.destroy());
      target.on('close', () => client.destroy());
      client.pipe(target).pipe(client);
    });
  }

  static async to(port: number): Promise<Way> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Way(server, port);
  }

  urlFor(url: string): string {
    const { port } = this.server.address() as AddressInfo;
    return Object.assign(new URL(url), { port }).href;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  restore(): void {
    this.isCut = false;
  }

  close(): Promise<unknown> {
    this.cut();
    return once(this.server.close(), 'close');
  }
}
