import { portSettings } from './app-ports.mjs';

/** Settings of the user's own service. The demo's traffic goes to the sandbox, whatever these say. */
const SERVICE = /^MACHINE_CLOUD_(BASE_URL$|TOKEN|LOGIN|OAUTH)/;

/** The environment of all apps for the demo; other settings of the user stay. */
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

/** The terminal shows the sandbox's shifts. */
function shifts({ SANDBOX_SHIFT_STARTS: starts, SANDBOX_TIME_ZONE: timeZone }) {
  return {
    ...(starts && { TERMINAL_SHIFTS: starts }),
    ...(timeZone && { TERMINAL_TIME_ZONE: timeZone }),
  };
}

/** All apps must have the same time. An accelerated clock is refused in production. */
function acceleratedClock(clockOrigin, env) {
  if (env.NODE_ENV === 'production') return {};
  return { CLOCK_SPEED: '60', CLOCK_ORIGIN: String(clockOrigin) };
}
