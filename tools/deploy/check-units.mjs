import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { anyFreePort } from '../process/ports.mjs';
import { buildApps } from '../setup/build.mjs';
import { LOCAL, ROOT, runTool, say } from '../setup/command.mjs';
import { expectEqual } from './check-images.mjs';
import { installDebianPackages } from '../setup/debian-packages.mjs';

const FOLDER = join(LOCAL, 'deploy/systemd');
const RUN_UNITS = join(ROOT, 'tools/deploy/run-units.sh');
const APPS = ['bridge', 'terminal', 'ingest'];
const unitOf = (app) => join(ROOT, `deploy/systemd/machine-${app}.service`);

/** Checks the systemd units with systemd-analyze and, as root, by running them under systemd. */
export async function checkUnits(check) {
  await installDebianPackages({ 'systemd-analyze': 'systemd', unshare: 'util-linux' });
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  for (const app of APPS) {
    await check(`machine-${app}.service (systemd-analyze verify)`, () => verify(app));
    // the exposure level times ten: 20 is "OK"
    const args = ['security', '--offline=true', '--threshold=20', unitOf(app)];
    await check(`machine-${app}.service (systemd-analyze security)`, () =>
      runTool('systemd-analyze', args),
    );
  }
  if (process.getuid?.() !== 0) {
    say('NOT RUN: the units under systemd, because that takes root');
    return;
  }
  await buildApps();
  await check('units (systemd): beyond loopback, SIGHUP, SIGTERM, wrong settings', runUnits);
}

async function verify(app) {
  const copy = join(FOLDER, `machine-${app}.service`);
  const text = await readFile(unitOf(app), 'utf8');
  // systemd-analyze requires that the program exists
  await writeFile(copy, text.replace('ExecStart=/usr/bin/node', `ExecStart=${process.execPath}`));
  const warnings = await runTool('sh', ['-c', 'systemd-analyze verify --man=no "$0" 2>&1', copy]);
  if (warnings) throw new Error(warnings);
}

/** Runs the units under a systemd in separate namespaces, with settings that need no Kafka to be live. */
async function runUnits() {
  const settings = {
    bridge: {
      MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com',
      MACHINE_CLOUD_TOKEN: 'a-token',
      BRIDGE_API_TOKEN: 'a-token',
    },
    terminal: { TERMINAL_TOKENS_FILE: 'demo/terminal-tokens.json' },
    ingest: { INGEST_SENDERS_FILE: 'demo/ingest-senders.json', INGEST_TLS_BY_PROXY: 'true' },
  };
  for (const [app, own] of Object.entries(settings)) {
    const http = `${app.toUpperCase()}_HTTP`;
    const port = await anyFreePort();
    const all = {
      KAFKA_BROKERS: '127.0.0.1:1',
      [`${http}_HOST`]: '0.0.0.0',
      [`${http}_PORT`]: port,
    };
    const lines = Object.entries({ ...all, ...own }).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(FOLDER, `${app}.env`), lines.join(''));
    await writeFile(join(FOLDER, `${app}.url`), `http://127.0.0.1:${port}/health/live`);
  }
  const namespaces = ['--pid', '--fork', '--mount', '--ipc', '--uts', '--cgroup', '--kill-child'];
  await runTool('unshare', [...namespaces, 'sh', RUN_UNITS, ROOT, FOLDER, process.execPath]);
  const results = await readFile(join(FOLDER, 'results'), 'utf8');
  const lines = APPS.map(
    (app) => `${app}: live 200, after SIGHUP 200, stopped success 0, without settings failed 78`,
  );
  expectEqual(results.trim().split('\n'), lines);
}
