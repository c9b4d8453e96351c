import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'yaml';

interface Service {
  healthcheck?: { test?: unknown };
}

/** As `docker compose` reads it, which takes the whole file or none of it. */
const { services } = parse(readFileSync('docker-compose.yml', 'utf8')) as {
  services: Record<string, Service>;
};
const OWN = ['sandbox', 'bridge', 'terminal', 'ingest'] as const;

async function exitCode([command, ...args]: string[]): Promise<unknown> {
  const [code] = (await once(spawn(command!, args), 'exit')) as unknown[];
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

  it.each(OWN)('asks the %s whether it is well', async (name) => {
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
