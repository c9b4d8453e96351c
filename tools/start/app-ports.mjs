import { isFree, nextFreePort } from '../process/ports.mjs';
import { say, SetupError } from '../setup/command.mjs';

/** The ports of the apps unless they are taken. */
const PREFERRED = { sandbox: 3100, bridge: 3000, terminal: 3200, ingest: 3300 };

/** A port for each app, by name, as `choose` picks it for the app's setting. */
export async function portsOfApps(choose) {
  const ports = {};
  for (const [app, preferred] of Object.entries(PREFERRED)) {
    ports[app] = await choose(settingOf(app), preferred);
  }
  return ports;
}

/** The settings with these ports. */
export function portSettings(ports) {
  const entries = Object.entries(ports).map(([app, port]) => [settingOf(app), String(port)]);
  return Object.fromEntries(entries);
}

/** `{sandboxUrl, bridgeUrl, …}` with these ports. */
export function urlsOf(ports) {
  const entries = Object.entries(ports).map(([app, port]) => {
    return [`${app}Url`, `http://127.0.0.1:${port}`];
  });
  return Object.fromEntries(entries);
}

function settingOf(app) {
  return `${app.toUpperCase()}_HTTP_PORT`;
}

/**
 * The port for an app: the port in its setting, which must be free; otherwise the preferred port, or the next free one
 * above.
 *
 * @throws SetupError when the port in the setting is taken or not a port
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
