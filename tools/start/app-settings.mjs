import { portSettings } from './app-ports.mjs';

/** Of a service of one's own: the demo's traffic goes to the sandbox, wherever the shell's settings lead. */
const SERVICE = /^MACHINE_CLOUD_(BASE_URL$|TOKEN|LOGIN|OAUTH)/;

/** The environment of all apps for the demo; what else the user has set stays as it is. */
export function appSettings({ brokers, ports, sendersFile, clockOrigin }, env = process.env) {
  const defaults = {
    EQUIPMENT_MAP_FILE: 'demo/equipment-map.json',
    TERMINAL_REASONS_FILE: 'demo/terminal-reasons.json',
    INGEST_SENDERS_FILE: sendersFile,
    ...shifts(env),
    ...acceleratedClock(clockOrigin, env),
  };
  return {
    ...defaults,
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !SERVICE.test(name))),
    MACHINE_CLOUD_BASE_URL: `http://127.0.0.1:${ports.sandbox}`,
    MACHINE_CLOUD_TOKEN: env.SANDBOX_TOKEN ?? 'sandbox-token',
    KAFKA_BROKERS: brokers,
    ...portSettings(ports),
  };
}

/** The terminal shows the shifts that the sandbox goes by. */
function shifts({ SANDBOX_SHIFT_STARTS: starts, SANDBOX_TIME_ZONE: timeZone }) {
  return {
    ...(starts && { TERMINAL_SHIFTS: starts }),
    ...(timeZone && { TERMINAL_TIME_ZONE: timeZone }),
  };
}

/** All apps must have the same time; an accelerated one is refused in production. */
function acceleratedClock(clockOrigin, env) {
  if (env.NODE_ENV === 'production') return {};
  return { CLOCK_SPEED: '60', CLOCK_ORIGIN: String(clockOrigin) };
}
