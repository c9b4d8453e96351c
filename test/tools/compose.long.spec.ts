import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'yaml';

interface Service {
  healthcheck?: { test?: unknown };
}

/** The file as `docker compose` parses it: with one fault it takes nothing of the file. */
const { services } = parse(readFileSync('docker-compose.yml', 'utf8')) as {
  services: Record<string, Service>;
};
const OWN = ['sandbox', 'bridge', 'terminal', 'ingest'] as const;

async function exitCode([command, ...args]: string[], env = {}): Promise<unknown> {
  const child = spawn(command!, args, { env: { ...process.env, ...env } });
  const [code] = (await once(child, 'exit')) as unknown[];
  return code;
}

describe('docker-compose.yml', () => {
  it('has a health check for each service that is a command', () => {
    for (const { healthcheck } of Object.values(services)) {
      const test = healthcheck?.test;
      const words = Array.isArray(test) ? test : [test];
      expect(words.map((word) => typeof word)).toEqual(words.map(() => 'string'));
    }
  });

  it.each(OWN)('checks the health of the %s', async (name) => {
    const [cmd, ...command] = services[name]?.healthcheck?.test as string[];
    expect(cmd).toBe('CMD');
    const answers = [200, 503];
    const server = createServer((_, answer) => answer.writeHead(answers.shift() ?? 500).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const asked = command.map((word) => word.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
    expect(await exitCode(asked)).toBe(0);
    expect(await exitCode(asked)).toBe(1);
    await new Promise((resolve) => server.close(resolve));
    expect(await exitCode(asked)).toBe(1);
  });
});

describe('the health check of the images', () => {
  const ask = (host: string, port: number) =>
    exitCode([process.execPath, 'deploy/docker/healthcheck.mjs', 'TERMINAL_HTTP_PORT', '3200'], {
      TERMINAL_HTTP_HOST: host,
      TERMINAL_HTTP_PORT: String(port),
    });

  // with `--network host` and an address of one of several networks
  it.each(['127.0.0.1', '127.0.0.2', '0.0.0.0', '::', ''])(
    'asks where the program listens: on %j',
    async (host) => {
      const server = createServer((_, answer) => answer.end());
      await once(server.listen(0, host || '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const codes = [await ask(host, port)];
      await new Promise((resolve) => server.close(resolve));
      codes.push(await ask(host, port));
      expect(codes).toEqual([0, 1]);
    },
  );
});
