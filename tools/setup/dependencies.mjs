import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ROOT, runTool, step } from './command.mjs';

const LOCK = join(ROOT, 'package-lock.json');
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');
const STAMP = join(ROOT, 'node_modules/.installed-for');

/** Installs the packages of the lock file, unless node_modules has exactly these. */
export async function installDependencies() {
  const wanted = await stampOf(LOCK);
  const last = await readIfThere(STAMP);
  if (last === wanted) return;
  // packages may differ from one Node or platform to another
  const isSamePlatform = last === undefined || platformOf(last) === platformOf(wanted);
  if (isSamePlatform && (await holdsLockedPackages())) {
    await writeFile(STAMP, wanted);
    return;
  }
  await step('installing dependencies', async () => {
    const [command, ...args] = npm();
    // NODE_ENV=production would leave out the packages that build and test the project
    const install = ['ci', '--include=dev', '--no-audit', '--no-fund'];
    await runTool(command, [...args, ...install], { cwd: ROOT });
    await writeFile(STAMP, wanted);
  });
}

/** The npm that runs this script, so that both are the same; otherwise the one on the PATH. */
export function npm() {
  const running = process.env.npm_execpath ?? '';
  return basename(running) === 'npm-cli.js' ? [process.execPath, running] : ['npm'];
}

async function stampOf(lockFile) {
  const hash = createHash('sha256')
    .update(await readFile(lockFile))
    .digest('hex');
  return `${hash} node${process.versions.node.split('.')[0]} ${process.platform}-${process.arch}`;
}

function platformOf(stamp) {
  return stamp.slice(stamp.indexOf(' '));
}

/** Whether a person has installed packages: npm notes the installed packages at the end of an install. */
async function holdsLockedPackages() {
  const installed = JSON.parse((await readIfThere(INSTALLED)) ?? '{"packages":{}}').packages;
  const locked = Object.entries(JSON.parse(await readFile(LOCK, 'utf8')).packages);
  return locked.every(
    ([path, entry]) =>
      path === '' || entry.optional || entry.integrity === installed[path]?.integrity,
  );
}

async function readIfThere(file) {
  return existsSync(file) ? readFile(file, 'utf8') : undefined;
}
