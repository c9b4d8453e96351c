import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCAL } from '../setup/root.mjs';
import { runTool } from '../setup/run-tool.mjs';
import { SetupError, step } from '../setup/steps.mjs';

const TOOLS = {
  promtool: ['github.com/prometheus/prometheus', 'v0.315.1', 'cmd/promtool'],
};
const NO_GO = `Go is missing: promtool is built from its Go module.
Install Go 1.26 or newer (Debian: apt-get install golang-go, if it is new enough; else https://go.dev/dl) and see that
"go version" answers, then run this again.`;

/**
 * The path of a program of Go, built from its module in the version above. A module of its own requires it, since
 * "go install" refuses modules whose go.mod replaces or excludes others.
 */
export async function goTool(name) {
  const [module, version, folder] = TOOLS[name];
  const source = join(LOCAL, 'deploy', `${name}-${version}`);
  const program = join(source, name);
  if (existsSync(program)) return program;
  await runTool('go', ['version']).catch(() => {
    throw new SetupError(NO_GO);
  });
  await mkdir(source, { recursive: true });
  await writeFile(join(source, 'go.mod'), `module machine-bridge.local/${name}\n\ngo 1.26\n`);
  const go = (...args) => runTool('go', args, { cwd: source });
  await step(`fetching ${name} ${version}`, () => go('get', `${module}/${folder}@${version}`));
  await step(`building ${name} ${version}`, async () => {
    await go('build', '-o', `${program}.new`, `${module}/${folder}`);
    await rename(`${program}.new`, program);
  });
  return program;
}
