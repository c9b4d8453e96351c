import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../support/run-command.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

describe('npm run erp -- preview', () => {
  const folder = temporaryFolder();
  const preview = (...args: string[]) =>
    runCommand(['erp', 'preview', ...args], { topicPrefix: '' });
  const file = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };

  it('shows the orders of a real IDoc, the machines, and the lists', async () => {
    const { exitCode, stdout } = await preview(
      'demo/sap-loipro05-order-1895938.xml',
      '--map',
      'demo/equipment-map.json',
    );
    expect(stdout).toContain('order 1895938: released');
    expect(stdout).toContain('0060: released on HZ001/D2O_ASSY = M-001');
    expect(stdout).toContain('  M-001: 1895938-0060, 1895938-0070, 1895938-0080');
    expect(exitCode).toBe(0);
  });

  it('shows planned starts in the zone of --time-zone', async () => {
    const { stdout } = await preview(
      'demo/sap-loipro05-order-1895938.xml',
      '--time-zone',
      'America/Denver',
    );
    expect(stdout).toContain('D2O_ASSY, planned start 2023-12-04T16:46:53-07:00\n');
  });

  it('opens events as the bridge does, and dates documents without a time by reading order', async () => {
    const create = { external_work_order_id: '1234', product: {}, quantity: 1, status: 1 };
    const event = { specversion: '1.0', id: '1', source: '/mes', type: 'work-order' };
    const first = file('umh-1.json', { ...event, data: create });
    const second = file('umh-2.json', { ...event, data: { ...create, status: 2 } });
    utimesSync(second, 1_700_000_000, 1_700_000_000);
    const topic = 'umh.v1.acme.north.hall-3._analytics.work-order.create';
    const headers = ['--content-type', 'application/cloudevents+json', '--topic', topic];
    expect((await preview(first, ...headers)).stdout).toContain('  hall-3: 1234\n');
    expect((await preview(first, second, ...headers)).stdout).toContain('  hall-3: (empty)\n');
  });

  it('says that a document of UMH needs its topic by --topic', async () => {
    const create = { external_work_order_id: '1234', product: {}, quantity: 1, status: 1 };
    const document = file('umh.json', create);
    const { exitCode, stdout } = await preview(document);
    expect(stdout).toContain('a create needs its topic');
    expect(stdout).toContain('--topic gives it here');
    expect(exitCode).toBe(1);
    const above = await preview(document, '--topic', 'umh.v1.acme._analytics.work-order.create');
    expect(above.stdout).toContain('the topic names no place below a site: umh.v1.acme.');
    expect(above.stdout).not.toContain('--topic');
  });

  it('tries a custom mapping', async () => {
    const mapping = file(
      'mapping.yaml',
      [
        '- name: acme',
        '  contentType: application/vnd.acme+json',
        '  expression: |',
        '    {"orderId": no, "changedAt": at, "status": "released",',
        '     "operations": [{"operationId": "10", "machineId": machine}]}',
      ].join('\n'),
    );
    const document = file('job.json', { no: 'A-1', at: 1_763_680_000, machine: 'M-7' });
    const { exitCode, stdout } = await preview(
      document,
      '--mapping',
      mapping,
      '--content-type',
      'application/vnd.acme+json',
    );
    expect(stdout).toContain('  M-7: A-1');
    expect(exitCode).toBe(0);
  });

  it('names the order that the bridge would request from the ERP', async () => {
    const url = 'https://erp.example.com/orders/{orderId}';
    const rule = { name: 's4', when: { ce_type: 'order.changed' }, orderId: 'No', url };
    const rules = file('rules.json', [rule]);
    const event = { specversion: '1.0', id: '1', source: '/s4', type: 'order.changed' };
    const document = file('event.json', { ...event, data: { No: '0004711' } });
    const args = ['erp', 'preview', document, '--content-type', 'application/cloudevents+json'];
    const options = { topicPrefix: '', env: { ERP_ENRICHMENT_FILE: rules } };
    const { exitCode, stdout } = await runCommand(args, options);
    const asked =
      'would ask for order 4711 by the rule s4: GET https://erp.example.com/orders/0004711';
    expect(stdout).toContain(`  ${asked}\n`);
    expect(exitCode).toBe(0);
    expect(JSON.parse((await runCommand([...args, '--json'], options)).stdout)).toMatchObject({
      asksFor: { rule: 's4', orderId: '4711', values: { orderId: '0004711' } },
    });
  });

  it('finds files relative to the directory of the npm call', async () => {
    file('here.json', { no: 'A-1', at: 1_763_680_000 });
    file('here.csv', 'plant,workCentre,machineId\n1000,FR01,M-1\n');
    const operations = '[{"operationId": "10", "plant": "1000", "workCentre": "FR01"}]';
    const expression = `{"orderId": no, "changedAt": at, "status": "released", "operations": ${operations}}`;
    file('here.yaml', JSON.stringify([{ contentType: 'application/json', expression }]));
    const { stdout } = await runCommand(
      [
        ...['erp', 'preview', './here.json', '--map', 'here.csv', '--mapping', './here.yaml'],
        ...['--content-type', 'application/json'],
      ],
      { topicPrefix: '', env: { INIT_CWD: folder } },
    );
    expect(stdout).toMatch(/^\.\/here\.json\n/);
    expect(stdout).toContain('  M-1: A-1\n');
  });

  it('names a wrong option and a wrong setting', async () => {
    const document = file('any.json', {});
    const none = join(folder, 'none.json');
    const options = ['--map', none, '--mapping', document, '--time-zone', 'Foo'];
    const { exitCode, stderr } = await preview(document, ...options);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 64,
      stderr: expect.stringMatching(
        /^error: --time-zone Foo must be .*\n +--map \S+none.json names a file .*\n +--mapping \S+any.json is no mapping: /,
      ) as string,
    });
    const env = { ERP_TIME_ZONE: 'Foo', EQUIPMENT_MAP_FILE: none };
    const set = ['erp', 'preview', document, '--map', 'demo/equipment-map.json'];
    expect(await runCommand(set, { topicPrefix: '', env })).toMatchObject({
      exitCode: 78,
      stderr: expect.stringMatching(/^[^]* - ERP_TIME_ZONE must be .*\n$/) as string,
    });
  });

  it('prints its usage, and reports unknown arguments', async () => {
    expect((await preview('--help')).stdout).toContain('npm run erp -- preview');
    const { exitCode, stderr } = await runCommand(['erp', 'guess'], { topicPrefix: '' });
    expect(stderr).toContain("unknown command 'guess'");
    expect(exitCode).toBe(64);
  });
});
