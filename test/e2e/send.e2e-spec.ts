import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually.js';
import { testBrokers } from '../support/kafka.js';
import { type Plant, startPlant } from '../support/plant.js';
import { RunningCommand } from '../support/run-command.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const run = promisify(execFile);

describe('npm run send', () => {
  let plant: Plant;

  beforeAll(async () => {
    plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: 'demo/equipment-map.json' } });
  });

  afterAll(() => plant.close());

  const send = (...args: string[]) => sendFrom({}, ...args);
  const sendFrom = async (from: NodeJS.ProcessEnv, ...args: string[]): Promise<string> => {
    const env = {
      PATH: process.env['PATH'],
      KAFKA_BROKERS: testBrokers().join(','),
      KAFKA_TOPIC_PREFIX: plant.kafka.topicPrefix,
      ...from,
    };
    const command = ['dist/apps/cli/src/main.js', 'send', ...args];
    return (await run(process.execPath, command, { env })).stdout;
  };

  it('sends an SAP order to its topic, and the bridge turns it into a list', async () => {
    const output = await send('demo/sap-loipro05-order-1895938.xml');
    expect(output).toContain('erp.work-orders.v1, key 1895938');
    await plant.sandbox.listBecomes('M-001', ['1895938-0060', '1895938-0070', '1895938-0080']);
  });

  it('distinguishes lists and reasons, and sends several files at once', async () => {
    const list = temporaryFile('list.json', { machineId: 'M-002', workingOrders: ['A-17'] });
    const startTime = plant.clock.nowSeconds() - 600;
    const reason = temporaryFile('reason.json', { machineId: 'M-002', reasonId: '11', startTime });
    const output = await send(list, reason);
    expect(output).toContain('erp.work-order-lists.v1, key M-002');
    expect(output).toContain('mes.downtime-reasons.v1, key M-002');
    await plant.sandbox.listBecomes('M-002', ['A-17']);
    await eventually(
      'the reason has been taken',
      async () => (await plant.sandbox.machine('M-002')).classifications.length === 1,
    );
  });

  it('sends the remaining files when its output is closed', async () => {
    const files = ['M-004', 'M-005', 'M-006'].map((machineId) =>
      temporaryFile(`${machineId}.json`, { machineId, workingOrders: ['A-18'] }),
    );
    const sending = new RunningCommand(['send', ...files], plant.kafka);
    sending.stopReading('stdout');
    expect(await sending.result()).toMatchObject({ exitCode: 0, stderr: '' });
    await plant.sandbox.listBecomes('M-006', ['A-18']);
  });

  it('escapes control characters of a key', async () => {
    const list = temporaryFile('red.json', { machineId: '\u001b[31mM', workingOrders: [] });
    expect(await send(list)).toContain('key \\u001b[31mM,');
  });

  it('finds a file relative to the directory of the npm call', async () => {
    const path = temporaryFile('from-here.json', { machineId: 'M-003', workingOrders: ['A-19'] });
    const output = await sendFrom({ INIT_CWD: dirname(path) }, './from-here.json');
    expect(output).toContain('./from-here.json → ');
    await plant.sandbox.listBecomes('M-003', ['A-19']);
  });

  it('keeps the key of a known document when --topic names its topic', async () => {
    const list = temporaryFile('named.json', { machineId: 'M-002', workingOrders: ['A-20'] });
    const unknown = temporaryFile('unknown.json', { hello: 'world' });
    const topic = ['--topic', 'erp.work-order-lists.v1'];
    expect(await send(list, unknown, ...topic)).toMatch(/, key M-002, .*\n.*, key \(none\), /);
    const fullName = `${plant.kafka.topicPrefix}erp.work-order-lists.v1`;
    expect(await send(list, '--topic', fullName)).toContain(`→ ${fullName}, key M-002, `);
    // it looks like a list, but the mapping of another topic may use it differently
    expect(await send(list, '--topic', 'mes.downtime-reasons.v1')).toContain('(none)');
    expect(await send(list, ...topic, '--key', 'own')).toContain(', key own, ');
    await plant.sandbox.listBecomes('M-002', ['A-20']);
  });

  it('reports the fault of an unknown document, and prints its usage', async () => {
    const unknown = temporaryFile('unknown.json', { hello: 'world' });
    await expect(send(unknown)).rejects.toMatchObject({ code: 1, stderr: /unknown.json: orderId/ });
    await expect(send('/dev/zero')).rejects.toMatchObject({
      code: 1,
      stderr: /zero: it has more than \d+ bytes/,
    });
    await expect(send()).rejects.toMatchObject({ code: 64, stderr: /npm run send/ });
    expect(await send('--help')).toContain('npm run send');
  });

  it('fails when the topic does not exist, and names KAFKA_TOPIC_PREFIX', async () => {
    const list = temporaryFile('of-another.json', { machineId: 'M-002', workingOrders: [] });
    await expect(sendFrom({ KAFKA_TOPIC_PREFIX: 'none.' }, list)).rejects.toMatchObject({
      code: 1,
      stderr: /no topic none\.erp\.work-order-lists\.v1: .*KAFKA_TOPIC_PREFIX/,
    });
  });
});
