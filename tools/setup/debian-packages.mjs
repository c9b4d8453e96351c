import { spawnSync } from 'node:child_process';
import { runTool, SetupError, step } from './command.mjs';

/** A mirror that hangs, or another program that holds apt's lock, must not hold up the caller for ever. */
const INSTALL_TIMEOUT_MS = 600_000;

/**
 * Installs the Debian packages of missing programs.
 *
 * @param packages package of each program, such as `{dockerd: 'docker.io'}`
 * @throws SetupError if this process may not install them
 */
export async function installDebianPackages(packages) {
  const missing = Object.keys(packages).filter((program) => !isThere(program));
  if (missing.length === 0) return;
  const names = [...new Set(missing.map((program) => packages[program]))];
  if (process.getuid?.() !== 0 || !isThere('apt-get')) {
    throw new SetupError(
      `${missing.join(', ')}: not found. Install as root (Debian: apt-get install ${names.join(' ')}), then run this again.`,
    );
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { env, withinMs: INSTALL_TIMEOUT_MS };
  const install = ['install', '-y', '--no-install-recommends', ...names];
  await step(`installing ${names.join(', ')} with apt-get`, async () => {
    await runTool('apt-get', ['update', '-qq'], options);
    await runTool('apt-get', install, options);
  });
  const still = missing.filter((program) => !isThere(program));
  if (still.length > 0) {
    throw new SetupError(
      `${still.join(', ')}: not in ${names.join(', ')} of this Debian; install it, then run this again.`,
    );
  }
}

/** Whether the program is on the PATH, or in a folder where Debian has programs of root. */
function isThere(program) {
  const found = spawnSync('sh', ['-c', `PATH="$PATH:/usr/sbin:/sbin" command -v ${program}`]);
  return found.status === 0;
}
