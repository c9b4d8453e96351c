import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const { engines } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as {
  engines: { node: string };
};

/** The exit code and the output of the check, in a process that pretends to be this version of Node. */
function checked(version: string): [code: number | null, output: string] {
  const pretence = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const args = ['--import', `data:text/javascript,${pretence}`, 'tools/setup/require-node.mjs'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  return [status, stderr];
}

describe('the check of the version of Node', () => {
  const firsts = [...engines.node.matchAll(/\d+\.\d+\.\d+/g)].map(([version]) => version);

  it.each([...firsts, '20.20.2', '22.22.0', '25.0.0'])('accepts %s, as engines do', (version) => {
    expect(checked(version)).toEqual([0, '']);
  });

  it.each(['18.20.8', '20.18.3', '21.7.3', '22.12.0', '23.11.1'])(
    'refuses %s, and names all supported versions',
    (version) => {
      const [code, output] = checked(version);
      expect(code).toBe(1);
      for (const first of firsts) expect(output).toContain(first.replace(/(\.0)+$/, ''));
    },
  );
});
