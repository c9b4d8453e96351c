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
