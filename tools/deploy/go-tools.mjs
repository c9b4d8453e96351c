import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCAL, runTool, SetupError, step } from '../setup/command.mjs';

const TOOLS = {
  actionlint: ['github.com/rhysd/actionlint', 'v1.7.12', 'cmd/actionlint'],
  builder: ['go.opentelemetry.io/collector/cmd/builder', 'v0.165.0', ''],
  // newer versions need a newer Go
  compose: ['github.com/docker/compose/v5', 'v5.1.2', 'cmd'],
  helm: ['helm.sh/helm/v3', 'v3.22.0', 'cmd/helm'],
  kubeconform: ['github.com/yannh/kubeconform', 'v0.8.0', 'cmd/kubeconform'],
  kustomize: ['sigs.k8s.io/kustomize/kustomize/v5', 'v5.8.1', ''],
  prometheus: ['github.com/prometheus/prometheus', 'v0.315.1', 'cmd/prometheus'],
  promtool: ['github.com/prometheus/prometheus', 'v0.315.1', 'cmd/promtool'],
};
const NO_GO = `Go is missing: the programs that check the files are built from their Go modules.
Install Go 1.26 or newer (Debian: apt-get install golang-go, if it is new enough; else https://go.dev/dl) and see that
"go version" answers, then run this again.`;

/**
 * The path of a Go program, built from its module in the version above. A separate module requires it, because "go
 * install" refuses modules whose go.mod replaces or excludes others.
 */
export async function goTool(name) {
  const [module, version, folder] = TOOLS[name];
  const source = join(LOCAL, 'deploy', `${name}-${version}`);
  const program = join(source, name);
  const path = folder ? `${module}/${folder}` : module;
  if (existsSync(program)) return program;
  await runTool('go', ['version']).catch(() => {
    throw new SetupError(NO_GO);
  });
  await mkdir(source, { recursive: true });
  await writeFile(join(source, 'go.mod'), `module machine-bridge.local/${name}\n\ngo 1.26\n`);
  const go = (...args) => runTool('go', args, { cwd: source });
  await step(`fetching ${name} ${version}`, () => go('get', `${path}@${version}`));
  await step(`building ${name} ${version}`, async () => {
    await go('build', '-o', `${program}.new`, path);
    await rename(`${program}.new`, program);
  });
  return program;
}
