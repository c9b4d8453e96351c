const WAYS_TO_A_TOKEN = /^MACHINE_CLOUD_(TOKEN|LOGIN|OAUTH)_?/;

/** The environment of all apps for the demo; what the user has set stays as it is. */
export function appSettings(
  { brokers, sandboxPort, bridgePort, terminalPort, ingestPort, sendersFile, clockOrigin },
  env = process.env,
) {
  const defaults = {
    MACHINE_CLOUD_BASE_URL: `http://127.0.0.1:${sandboxPort}`,
    EQUIPMENT_MAP_FILE: 'demo/equipment-map.json',
    TERMINAL_REASONS_FILE: 'demo/terminal-reasons.json',
    INGEST_SENDERS_FILE: sendersFile,
    ...token(env),
    ...shifts(env),
    ...acceleratedClock(clockOrigin, env),
  };
  return {
    ...defaults,
    ...env,
    KAFKA_BROKERS: brokers,
    SANDBOX_HTTP_PORT: String(sandboxPort),
    BRIDGE_HTTP_PORT: String(bridgePort),
    TERMINAL_HTTP_PORT: String(terminalPort),
    INGEST_HTTP_PORT: String(ingestPort),
  };
}

/** The bridge wants exactly one way to a token. */
function token(env) {
  const chosen = Object.keys(env).some((name) => WAYS_TO_A_TOKEN.test(name));
  return chosen ? {} : { MACHINE_CLOUD_TOKEN: env.SANDBOX_TOKEN ?? 'sandbox-token' };
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
