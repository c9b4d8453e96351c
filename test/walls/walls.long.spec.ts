import { mutualFolders } from '../../tools/check/architecture/imports.mjs';
import { brokenRules, configuration } from './cruise.js';
import { BROKEN_WALLS, SOUND_HOUSE } from './fixtures.js';

describe('the walls of .dependency-cruiser.js', () => {
  it.each(BROKEN_WALLS)('report $rule, and no other rule ($files)', async ({ rule, files }) => {
    expect(await brokenRules(files)).toEqual([rule]);
  });

  it('report nothing for a tree that obeys them', async () => {
    expect(await brokenRules(SOUND_HOUSE)).toEqual([]);
  });

  it('each have a tree that breaks them, and a comment with their purpose', () => {
    const { forbidden = [] } = configuration;
    expect(new Set(BROKEN_WALLS.map(({ rule }) => rule))).toEqual(
      new Set(forbidden.map(({ name }) => name)),
    );
    expect(forbidden.filter(({ comment }) => !comment)).toEqual([]);
  });
});

describe('folders that import each other', () => {
  const nested = ['apps/cli/src/main.ts', 'apps/cli/src/dlq/list.ts'];

  it('are found, each pair once, whichever of their files import', () => {
    const imports = [
      nested,
      ['apps/cli/src/dlq/replay.ts', 'apps/cli/src/options.ts'],
      ['libs/kafka/src/a.ts', 'libs/clock/src/index.ts'],
    ];
    expect(mutualFolders(imports)).toEqual([['apps/cli/src', 'apps/cli/src/dlq']]);
  });

  it('are none if imports lead one way, or stay in a folder', () => {
    expect(mutualFolders([nested, ['libs/kafka/src/a.ts', 'libs/kafka/src/b.ts']])).toEqual([]);
  });
});
