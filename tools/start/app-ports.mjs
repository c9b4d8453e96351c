import { isFree, nextFreePort } from '../process/ports.mjs';
import { SetupError, say } from '../setup/steps.mjs';

/**
 * The port for an app: the one its setting names, which must be free, else the preferred one or the next free above.
 *
 * @throws SetupError when the named one is taken, or is none
 */
export async function choosePort(setting, preferred, env = process.env) {
  const named = Number(env[setting] ?? '');
  if (!(named >= 0 && named < 65536)) {
    throw new SetupError(`${setting} must be a port, such as ${setting}=${preferred}.`);
  }
  if (named > 0) {
    if (await isFree(named)) return named;
    throw new SetupError(
      `${setting} is ${named}, but that port is taken by another program.\n` +
        `Name another one (${setting}=${named + 1} npm start), or unset ${setting} and a free one is found.`,
    );
  }
  const port = await nextFreePort(preferred);
  if (port !== preferred)
    say(`  ! port ${preferred} is taken: using ${port} (${setting} names another)`);
  return port;
}
