// HEALTHCHECK of the images: `node healthcheck.mjs BRIDGE_HTTP_PORT 3000` exits 0 while /health/live answers.
// With a third argument, the app serves https where that setting is set; its certificate is not for loopback.
const [setting, defaultPort, certificate] = process.argv.slice(2);
const port = process.env[setting] || defaultPort;
// the address that the app listens on; an address that means all addresses leads to this host
const host = process.env[setting.replace(/PORT$/, 'HOST')] || '127.0.0.1';
const isTls = Boolean(process.env[certificate]);
const { get } = await import(isTls ? 'node:https' : 'node:http');
get({ host, port, path: '/health/live', rejectUnauthorized: false }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
}).on('error', () => process.exit(1));
