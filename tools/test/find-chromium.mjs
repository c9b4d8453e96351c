import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { step } from '../setup/steps.mjs';

const run = promisify(execFile);
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
/** A Chromium without windows, which opens a page in a third of the time; Debian puts it on no PATH. */
const DEBIAN_PACKAGE = 'chromium-headless-shell';
const DEBIAN_SHELL = `/usr/lib/chromium/${DEBIAN_PACKAGE}`;
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * The path of a Chromium for the tests of the terminal's page: the one CHROMIUM_PATH names, else one on the PATH,
 * else Debian's headless shell, installed here where that can be done; undefined where none can be had.
 */
export async function findChromium() {
  const named = process.env.CHROMIUM_PATH;
  if (named) return existsSync(named) ? named : undefined;
  return present() ?? (canInstall() ? await install() : undefined);
}

function present() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const onPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...onPath, DEBIAN_SHELL].find(isExecutable);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function canInstall() {
  return process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

async function install() {
  const options = {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: INSTALL_TIMEOUT_MS,
  };
  const installed = (name) =>
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], options);
  try {
    await step("installing Debian's chromium, for the tests of the terminal's page", async () => {
      await run('apt-get', ['update', '-qq'], options);
      // before Debian 12 there is no headless shell
      await installed(DEBIAN_PACKAGE).catch(() => installed('chromium'));
    });
  } catch {
    // said by the step; what does not run is said at the end
  }
  return present();
}
