import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { NODE_OPTIONS } from '../../tools/start/node-options.mjs';

function node(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describe('the options of Node that bound the heap of the bridge', () => {
  it('are accepted by this Node, and bound it', () => {
    const code = `
      const { getHeapSpaceStatistics } = require('node:v8');
      for (let kept = [], count = 0; count < 2e6; count += 1) {
        kept.push({ count });
        if (kept.length > 4e5) kept = [];
      }
      const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
      console.log(young.space_size / 2 ** 20);`;
    expect(NODE_OPTIONS.bridge).toContain('--max-semi-space-size=16');
    expect(Number(node(...NODE_OPTIONS.bridge, '-e', code))).toBeLessThanOrEqual(32);
  });

  it.each([
    'package.json',
    'Dockerfile',
    'docs/operations.md',
    'deploy/systemd/machine-bridge.service',
  ])('are those of %s', (file) => {
    const lines = readFileSync(file, 'utf8').split('\n');
    const line = lines.find((text) => text.includes('--heap-growing-percent'));
    expect(line?.match(/--(heap-growing|max-semi|no-alloc)[\w=-]+/g)).toEqual(NODE_OPTIONS.bridge);
  });
});

describe('the options of Node that save ingest garbage collections', () => {
  it.each(['package.json', 'Dockerfile', 'deploy/systemd/machine-ingest.service'])(
    'are those of %s',
    (file) => {
      const options = readFileSync(file, 'utf8').match(/--max-semi-space-size=\d+/g);
      expect(options).toEqual(expect.arrayContaining([...NODE_OPTIONS.ingest]));
    },
  );
});
