import { ESLint, type Linter } from 'eslint';
import tseslint from 'typescript-eslint';

const walls = '../../tools/check/eslint-walls.mjs';
const { eslintWalls } = (await import(walls)) as { eslintWalls: Linter.Config[] };
const eslint = new ESLint({
  overrideConfigFile: true,
  overrideConfig: [
    { files: ['**/*.ts'], languageOptions: { parser: tseslint.parser } },
    ...eslintWalls,
  ],
});

async function rulesBrokenBy(code: string, filePath: string): Promise<(string | null)[]> {
  const [result] = await eslint.lintText(code, { filePath });
  return result!.messages.map(({ ruleId }) => ruleId);
}

describe('the environment', () => {
  it.each([
    ['process.env', 'no-restricted-properties', "export const a = process.env['A'];"],
    ['a destructured env', 'no-restricted-properties', 'export const { env } = process;'],
    ['an imported env', 'no-restricted-imports', "export { env } from 'node:process';"],
  ])('as %s is read in libs/config alone', async (_what, rule, code) => {
    expect(await rulesBrokenBy(code, 'apps/bridge/src/any.ts')).toEqual([rule]);
    expect(await rulesBrokenBy(code, 'libs/clock/src/any.ts')).toEqual([rule]);
    expect(await rulesBrokenBy(code, 'libs/config/src/any.ts')).toEqual([]);
  });
});

describe('the time', () => {
  it.each([
    ['Date.now', 'no-restricted-properties', 'export const a = Date.now();'],
    ['performance.now', 'no-restricted-properties', 'export const a = performance.now();'],
    ['new Date()', 'no-restricted-syntax', 'export const a = new Date();'],
    ['setTimeout', 'no-restricted-globals', 'setTimeout(() => undefined, 1);'],
    ['setInterval', 'no-restricted-globals', 'setInterval(() => undefined, 1);'],
    ['timers/promises', 'no-restricted-imports', "import 'node:timers/promises';"],
  ])('as %s is known in libs/clock alone', async (_what, rule, code) => {
    expect(await rulesBrokenBy(code, 'apps/sandbox/src/any.ts')).toEqual([rule]);
    expect(await rulesBrokenBy(code, 'libs/config/src/any.ts')).toEqual([rule]);
    expect(await rulesBrokenBy(code, 'libs/clock/src/any.ts')).toEqual([]);
  });

  it('in a message is not a reading of a clock', async () => {
    expect(await rulesBrokenBy('export const a = new Date(0);', 'libs/delivery/src/a.ts')).toEqual(
      [],
    );
  });
});

it('are part of what npm run check lints with', async () => {
  const config = (await new ESLint().calculateConfigForFile('apps/bridge/src/main.ts')) as {
    rules: Record<string, unknown>;
  };
  expect(config.rules).toMatchObject(eslintWalls[0]!.rules!);
});
