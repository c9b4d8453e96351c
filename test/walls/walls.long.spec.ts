import { mutualFolders } from '../../tools/check/architecture/imports.mjs';
import { brokenRules, configuration } from './cruise.js';
import { BROKEN_WALLS, SOUND_HOUSE } from './fixtures.js';

describe('the walls of .dependency-cruiser.js', () => {
  it.each(BROKEN_WALLS)('$rule bites, and it alone ($files)', async ({ rule, files }) => {
    expect(await brokenRules(files)).toEqual([rule]);
  });

  it('leave a sound house alone', async () => {
    expect(await brokenRules(SOUND_HOUSE)).toEqual([]);
  });

  it('each have a tree that breaks them, and say what they are for', () => {
    const { forbidden = [] } = configuration;
    expect(new Set(BROKEN_WALLS.map(({ rule }) => rule))).toEqual(
      new Set(forbidden.map(({ name }) => name)),
    );
    expect(forbidden.filter(({ comment }) => !comment)).toEqual([]);
  });
});

describe('folders that import each other', () => {
  const nested = ['apps/cli/src/main.ts', 'apps/cli/src/dlq/list.ts'];

  it('are found, each pair once, by whichever files', () => {
    const imports = [
      nested,
      ['apps/cli/src/dlq/replay.ts', 'apps/cli/src/options.ts'],
      ['libs/kafka/src/a.ts', 'libs/clock/src/index.ts'],
    ];
    expect(mutualFolders(imports)).toEqual([['apps/cli/src', 'apps/cli/src/dlq']]);
  });

  it('are none where imports lead one way, or stay in a folder', () => {
    expect(mutualFolders([nested, ['libs/kafka/src/a.ts', 'libs/kafka/src/b.ts']])).toEqual([]);
  });
});
