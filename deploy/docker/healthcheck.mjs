// HEALTHCHECK of the images: `node healthcheck.mjs BRIDGE_HTTP_PORT 3000` exits 0 while the app answers on /health/live.
const [setting, defaultPort] = process.argv.slice(2);
const port = process.env[setting] || defaultPort;
const answer = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined);
process.exit(answer?.ok ? 0 : 1);
