import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../support/run-command.js';
import { temporaryFile, temporaryFolder } from '../../libs/config/test/temporary-files.js';

describe('npm run erp -- preview for folders', () => {
  const preview = (...args: string[]) =>
    runCommand(['erp', 'preview', ...args], { topicPrefix: '' });
  const order = (changedAt: number, ...workCentres: string[]) => ({
    orderId: '4711',
    changedAt,
    status: 'released',
    operations: workCentres.map((workCentre, index) => ({
      operationId: `00${index + 1}0`,
      workCentre,
      plant: '1000',
    })),
  });

  it('reads the documents of a folder in order, and reports those that would be rejected', async () => {
    const documents = temporaryFolder();
    const put = (name: string, content: unknown) => {
      writeFileSync(join(documents, name), JSON.stringify(content));
    };
    put('1.json', order(1_763_680_000, 'FR01'));
    put('2.json', order(1_763_680_060, 'FR02', 'FR99'));
    put('3.json', order(1_763_680_030, 'FR01'));
    const entries = 'plant,workCentre,machineId\n1000,FR01,M-1\n1000,FR02,M-2\n';
    const map = temporaryFile('map.csv', entries);
    const { exitCode, stdout, stderr } = await preview(documents, '--map', map);
    expect(stdout).toContain('0020: released on 1000/FR99, not mapped');
    expect(stdout).toContain('! rejected as unmapped-work-centre');
    expect(stdout).toContain('- superseded: order 4711 changed at 1763680030');
    expect(stdout).toContain('lists in the end\n  M-1: (empty)\n  M-2: 4711\n');
    expect(stderr).toContain('1 rejection');
    expect(exitCode).toBe(1);
  });

  it('reads nested folders, and fails if none has a file', async () => {
    const outer = temporaryFolder();
    mkdirSync(join(outer, 'mes', 'empty'), { recursive: true });
    const none = await preview(outer);
    expect(none).toMatchObject({ exitCode: 1, stdout: '' });
    expect(none.stderr).toContain(`no file to read in ${outer}`);
    writeFileSync(join(outer, 'mes', '1.json'), JSON.stringify(order(1_763_680_000, 'FR01')));
    const { exitCode, stdout } = await preview(outer);
    expect(stdout).toMatch(/^mes\/1\.json\n {2}order 4711: released/);
    expect(exitCode).toBe(0);
  });

  it('reports an unreadable file, and continues', async () => {
    const mixed = temporaryFolder();
    makeUnreadable(join(mixed, '1.json'));
    writeFileSync(join(mixed, '2.json'), JSON.stringify(order(1_763_680_000, 'FR01')));
    const { exitCode, stdout, stderr } = await preview(mixed);
    expect(stdout).toMatch(/^1.json\n {2}! cannot be read: E[A-Z]+.*\n2.json\n {2}order 4711/);
    expect(stdout).toContain('lists in the end\n  FR01: 4711\n');
    expect(stderr).toContain('see the lines with !');
    expect(exitCode).toBe(1);
  });

  it('skips a file that is too large, and continues', async () => {
    const mixed = temporaryFolder();
    writeFileSync(join(mixed, '1.dump'), '');
    truncateSync(join(mixed, '1.dump'), 3 * 2 ** 30);
    writeFileSync(join(mixed, '2.json'), JSON.stringify(order(1_763_680_000, 'FR01')));
    const { exitCode, stdout } = await preview(mixed);
    expect(stdout).toContain('1.dump\n  ! rejected as too-large: the body has 3221225472 bytes');
    expect(stdout).toContain('2.json\n  order 4711: released');
    expect(exitCode).toBe(1);
  });
});

/** Root, as whom tests may run, can read any file: on Linux a file that nobody can read replaces it. */
function makeUnreadable(path: string): void {
  if (process.platform === 'linux') symlinkSync('/proc/self/mem', path);
  else writeFileSync(path, '', { mode: 0 });
}
