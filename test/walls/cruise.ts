import { cruise, type ICruiseResult, type IConfiguration } from 'dependency-cruiser';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

export const { default: configuration } = (await import(join(ROOT, '.dependency-cruiser.js'))) as {
  default: IConfiguration;
};

/** The names of the rules that a tree of files breaks. The tree is put inside the project, so that packages resolve. */
export async function brokenRules(files: Record<string, string>): Promise<string[]> {
  mkdirSync(join(ROOT, '.local'), { recursive: true });
  const house = mkdtempSync(join(ROOT, '.local/walls-'));
  try {
    // its "imports" resolve #libs/…
    copyFileSync(join(ROOT, 'package.json'), join(house, 'package.json'));
    for (const [file, text] of Object.entries(files)) write(join(house, file), text);
    return await rulesBrokenIn(house);
  } finally {
    rmSync(house, { recursive: true });
  }
}

async function rulesBrokenIn(house: string): Promise<string[]> {
  const { forbidden = [], options = {} } = configuration;
  const { enhancedResolveOptions, ...rest } = options;
  const folders = ['apps', 'libs', 'test'].filter((folder) => existsSync(join(house, folder)));
  const { output } = await cruise(
    folders,
    { ...rest, tsConfig: {}, ruleSet: { forbidden }, validate: true, baseDir: house },
    enhancedResolveOptions,
  );
  const { violations } = (output as ICruiseResult).summary;
  return [...new Set(violations.map((violation) => violation.rule.name))].sort();
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
