const WAYS_TO_A_TOKEN = /^MACHINE_CLOUD_(TOKEN|LOGIN|OAUTH)_?/;

/** The environment of both apps for the demo; what the user has set stays as it is. */
export function appSettings({ brokers, sandboxPort, bridgePort, clockOrigin }, env = process.env) {
  const defaults = {
    MACHINE_CLOUD_BASE_URL: `http://127.0.0.1:${sandboxPort}`,
    EQUIPMENT_MAP_FILE: 'demo/equipment-map.json',
    ...token(env),
    ...acceleratedClock(clockOrigin, env),
  };
  return {
    ...defaults,
    ...env,
    KAFKA_BROKERS: brokers,
    SANDBOX_HTTP_PORT: String(sandboxPort),
    BRIDGE_HTTP_PORT: String(bridgePort),
  };
}

/** The bridge wants exactly one way to a token. */
function token(env) {
  const chosen = Object.keys(env).some((name) => WAYS_TO_A_TOKEN.test(name));
  return chosen ? {} : { MACHINE_CLOUD_TOKEN: env.SANDBOX_TOKEN ?? 'sandbox-token' };
}

/** Both apps must tell the same time; an accelerated one is refused in production. */
function acceleratedClock(clockOrigin, env) {
  if (env.NODE_ENV === 'production') return {};
  return { CLOCK_SPEED: '60', CLOCK_ORIGIN: String(clockOrigin) };
}
