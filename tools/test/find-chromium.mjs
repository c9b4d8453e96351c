import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { step } from '../setup/command.mjs';

const run = promisify(execFile);
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * The path of a Chromium for the tests of the terminal's page: CHROMIUM_PATH, otherwise one on the PATH, otherwise
 * Debian's, which is installed if possible; undefined if there is none.
 */
export async function findChromium() {
  const named = process.env.CHROMIUM_PATH;
  if (named) return existsSync(named) ? named : undefined;
  return onPath() ?? (canInstall() ? await install() : undefined);
}

function onPath() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
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
  try {
    await step("installing Debian's chromium, for the tests of the terminal's page", async () => {
      await run('apt-get', ['update', '-qq'], options);
      await run(
        'apt-get',
        ['install', '-y', '-qq', '--no-install-recommends', 'chromium'],
        options,
      );
    });
  } catch {
    // the step has printed it; a missing Chromium is reported at the end
  }
  return onPath();
}
