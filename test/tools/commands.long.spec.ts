import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { tool, type ToolFunction } from '../support/tool.js';

const ROOT = resolve(import.meta.dirname, '../..');

interface Run {
  paths: string[];
  ignored: string[];
}

const { TIERS, jestArguments } = await tool<{
  TIERS: Record<string, Run[]>;
  jestArguments: ToolFunction<string[]>;
}>('test/tiers.mjs');
const { countTests, sumOf } =
  await tool<Record<'countTests' | 'sumOf', ToolFunction>>('test/count-tests.mjs');
const { whereToLook } = await tool<{ whereToLook: ToolFunction<string> }>(
  'start/where-to-look.mjs',
);

/** Calls exports of a tool's module in a separate process and returns its output. */
function run(code: string, env: NodeJS.ProcessEnv): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', code],
    { cwd: ROOT, env, encoding: 'utf8' },
  );
  return { status, output: stdout + stderr };
}

const FIND_KAFKA = `
  import { findKafka } from './tools/kafka/find-kafka.mjs';
  import { runCommand } from './tools/setup.mjs';
  await runCommand(() => findKafka('test'));
`;

describe('without any Kafka', () => {
  const emptyPath = temporaryFolder();
  symlinkSync(process.execPath, join(emptyPath, 'node'));

  it('the three ways to one are explained', () => {
    const { status, output } = run(FIND_KAFKA, { PATH: emptyPath });

    expect(status).toBe(1);
    expect(output).toMatch(/1\. .*KAFKA_BROKERS.*\n.*2\. Docker.*\n.*3\. Java 17.*Maven/);
    expect(output).not.toMatch(/^\s+at /m);
  });

  it('a KAFKA_BROKERS that does not answer is named', () => {
    const { status, output } = run(FIND_KAFKA, { PATH: emptyPath, KAFKA_BROKERS: '127.0.0.1:1' });

    expect(status).toBe(1);
    expect(output).toContain('KAFKA_BROKERS is 127.0.0.1:1, but none of these accepts');
  });
});

describe('Ctrl-C during the search for a Kafka', () => {
  const path = temporaryFolder();
  const asked = join(path, 'asked');
  const script = `#!/bin/sh\n: > ${asked}\nexec /bin/sleep 20\n`;
  writeFileSync(join(path, 'docker'), script, { mode: 0o755 });

  it('ends the command, and does not count as a missing Kafka', async () => {
    const code = `
      import { findKafka } from './tools/kafka/find-kafka.mjs';
      import { createShutdown } from './tools/process/shutdown.mjs';
      import { runCommand } from './tools/setup.mjs';
      const shutdown = createShutdown({ interruptedCode: 7, say: console.log });
      await runCommand(() => findKafka('test').catch(shutdown.unlessStopping), () => shutdown.end(1));`;
    // a terminal's Ctrl-C goes to the whole group
    const command = spawn(process.execPath, ['--input-type=module', '-e', code], {
      cwd: ROOT,
      env: { PATH: path },
      detached: true,
    });
    let output = '';
    for (const stream of [command.stdout, command.stderr])
      stream.on('data', (text: Buffer) => (output += text.toString()));
    const exit = once(command, 'close');
    while (!existsSync(asked) && command.exitCode === null) await setTimeout(20);
    process.kill(-(command.pid ?? 0), 'SIGINT');
    const [status] = (await exit) as [number | null];
    expect({ status, output }).toEqual({ status: 7, output: '\nSIGINT: stopping\n' });
  });
});

describe('a port', () => {
  const CHOOSE = `
    import { choosePort } from './tools/start/app-ports.mjs';
    import { runCommand } from './tools/setup.mjs';
    const preferred = Number(process.env.PREFERRED);
    await runCommand(async () => console.log('chosen', await choosePort('BRIDGE_HTTP_PORT', preferred)));
  `;
  const listener = createServer();
  let taken = '';

  beforeAll(async () => {
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    taken = String((listener.address() as AddressInfo).port);
  });
  afterAll(() => {
    listener.close();
  });

  it('that is taken gives way to a free one', () => {
    const { status, output } = run(CHOOSE, { PREFERRED: taken });

    expect(status).toBe(0);
    expect(output).toContain(`port ${taken} is taken`);
    expect(output).not.toContain(`chosen ${taken}`);
  });

  it('that is any free one is returned once, though nobody listens on it yet', () => {
    const { output } = run(
      `import { anyFreePort } from './tools/process/ports.mjs';
       Math.random = () => 0.5;
       const ports = [await anyFreePort(), await anyFreePort(), await anyFreePort()];
       console.log(new Set(ports).size);`,
      {},
    );
    expect(output).toBe('3\n');
  });

  it('that is named and taken is an error that says how to change it', () => {
    const { status, output } = run(CHOOSE, { PREFERRED: '3000', BRIDGE_HTTP_PORT: taken });

    expect(status).toBe(1);
    expect(output).toContain(`BRIDGE_HTTP_PORT is ${taken}, but that port is taken`);
  });

  it('that is not valid is an error that says which values are valid', () => {
    const { status, output } = run(CHOOSE, { PREFERRED: '3000', BRIDGE_HTTP_PORT: 'abc' });

    expect(status).toBe(1);
    expect(output.trim()).toBe('BRIDGE_HTTP_PORT must be a port, such as BRIDGE_HTTP_PORT=3000.');
  });
});

describe('a signal during the set-up of an app', () => {
  const SIGNALLED = `
    import { exitUntilTakenOver } from './tools/process/exit-until-taken-over.mjs';
    exitUntilTakenOver();
    if (process.env.LISTENS) process.on('SIGTERM', () => process.exit(7));
    process.kill(process.pid, 'SIGTERM');
    setInterval(() => undefined, 1000);
  `;

  it('ends it in good order', () => {
    expect(run(SIGNALLED, {}).status).toBe(0);
  });

  it('is left to the app as soon as the app listens', () => {
    expect(run(SIGNALLED, { LISTENS: 'yes' }).status).toBe(7);
  });
});

describe('where to look', () => {
  it('names the topic in full, and the option that reads only committed records', () => {
    const kafka = { brokers: 'kafka:9092', how: 'Docker', consumer: 'console-consumer' };
    const text = whereToLook({ kafka, topicPrefix: 'plant-1.', apps: [] });
    const command = text.split('\n').find((line) => line.includes('state changes'));
    expect(command).toContain('console-consumer --topic plant-1.machine.state-changes.v1 ');
    expect(command).toContain('--isolation-level read_committed');
  });

  it('has a curl for ingest with the token of the demo', () => {
    const text = whereToLook({ kafka: {}, ingestUrl: 'http://127.0.0.1:3300', apps: [] });
    const { senders } = JSON.parse(
      readFileSync(join(ROOT, 'demo/ingest-senders.json'), 'utf8'),
    ) as {
      senders: { 'demo-erp': { token: string } };
    };
    const [command = ''] = /curl [^]*?\}'/.exec(text) ?? [];
    expect(command).toContain(`'authorization: Bearer ${senders['demo-erp'].token}'`);
  });
});

describe('the clock of the demo', () => {
  it('goes on from the reading of the last run, whatever time has passed', async () => {
    const real = 1_800_000_000;
    const last = real + 100_000;
    const { originToGoOn } = await tool<{ originToGoOn: ToolFunction<number> }>(
      'start/demo-clock.mjs',
    );
    const goingOn = originToGoOn(60, real, last);
    const ahead = goingOn + (real - goingOn) * 60 - last;

    expect(ahead).toBeGreaterThanOrEqual(0);
    expect(ahead).toBeLessThan(60);
    expect(originToGoOn(60, real, 0)).toBe(real);
    expect(originToGoOn(60, real, 100_000_000_000)).toBe(real);
  });
});

describe('the closing line of npm test', () => {
  it.each([
    ['{"numPassedTests":3,"numFailedTests":0,"numRuntimeErrorTestSuites":0}', 0, 3, 0],
    ['{"numPassedTests":3,"numFailedTests":2,"numRuntimeErrorTestSuites":1}', 1, 3, 3],
    ['{"numPassedTests":3,"numFailedTests":0,"numRuntimeErrorTestSuites":0}', 1, 3, 1],
    ['', 1, 0, 1],
  ])('counts %s, exit %i, as %i and %i', (result, exitCode, passed, failed) => {
    expect(countTests(result, exitCode)).toEqual({ passed, failed });
  });
});

describe('the sum of several runs', () => {
  it.each([
    [[], { passed: 0, failed: 1 }],
    [['{"numPassedTests":0}'], { passed: 0, failed: 1 }],
    [['{"numPassedTests":0}', '{"numPassedTests":3}'], { passed: 3, failed: 0 }],
  ])('of %j is %j: no test at all is a failure, none in one of the runs is not', (runs, sum) => {
    expect(sumOf(runs.map((text) => countTests(text, 0)))).toEqual(sum);
  });
});

describe('--help', () => {
  const runTool = (name: string, ...args: string[]) =>
    spawnSync(process.execPath, [`tools/${name}.mjs`, ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: 120_000,
    });

  it.each(['bench', 'build', 'check', 'deploy-test', 'matrix', 'start', 'test', 'test unit'])(
    'of %s says how the command is used, and does nothing else',
    (command) => {
      const [name = '', ...args] = command.split(' ');
      const { status, stdout, stderr } = runTool(name, ...args, '--help');
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/^npm /);
    },
  );

  it('is also shown by a command that takes no arguments and got one', () => {
    const { status, stderr } = runTool('start', '--port');
    expect(status).toBe(1);
    expect(stderr).toMatch(/no argument --port[^]*npm start/);
  });
});

describe('a demo in a shell with settings of a real service', () => {
  it('sends its traffic to the sandbox all the same', async () => {
    const env = {
      MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com',
      MACHINE_CLOUD_TOKEN_FILE: '/run/secrets/token',
      MACHINE_CLOUD_TIMEOUT_MS: '5000',
    };
    const { appSettings } = await tool<{ appSettings: ToolFunction }>('start/app-settings.mjs');
    const settings = appSettings({ brokers: '127.0.0.1:9092', ports: { sandbox: 3101 } }, env);
    expect(settings).toMatchObject({
      MACHINE_CLOUD_BASE_URL: 'http://127.0.0.1:3101',
      MACHINE_CLOUD_TOKEN: 'sandbox-token',
      MACHINE_CLOUD_TIMEOUT_MS: '5000',
    });
    expect(settings).not.toHaveProperty('MACHINE_CLOUD_TOKEN_FILE');
  });
});

describe('the Chromium for the tests of the page', () => {
  const path = temporaryFolder();
  const found = join(path, 'google-chrome');
  symlinkSync(process.execPath, found);

  it.each([
    ['is the one that CHROMIUM_PATH names', { CHROMIUM_PATH: found, PATH: '' }, found],
    ['is one on the PATH', { PATH: path }, found],
    [
      'is none where CHROMIUM_PATH names nothing',
      { CHROMIUM_PATH: '/none', PATH: path },
      'undefined',
    ],
  ])('%s', (_, env, expected) => {
    const { output } = run(
      `import { findChromium } from './tools/test/find-chromium.mjs';
       console.log(String(await findChromium()));`,
      env,
    );
    expect(output.trim()).toBe(expected);
  });
});

describe('npm test and what it leaves out', () => {
  const matches = (patterns: string[], spec: string): boolean =>
    patterns.some((pattern) => new RegExp(pattern).test(spec));
  const takes = ({ paths, ignored }: Run, spec: string): boolean =>
    matches(paths, spec) && !matches(ignored, spec);

  it('run every spec once, and properties again with more cases; their tiers together do the same', () => {
    const specs = ['apps', 'libs', 'test'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => /[.-]spec\.ts$/.test(path))
        .map((path) => `/${folder}/${path}`),
    );
    const takenBy = (names: string[], spec: string): number =>
      names.flatMap((name) => TIERS[name] ?? []).filter((run) => takes(run, spec)).length;
    const times = (spec: string): number => (spec.endsWith('.properties.spec.ts') ? 2 : 1);
    expect(specs.length).toBeGreaterThan(100);
    const isRandom = (spec: string): boolean => takenBy(['random'], spec) > 0;
    const others = specs.filter((spec) => !isRandom(spec));
    expect(others.filter((spec) => takenBy(['quick', 'rest'], spec) !== times(spec))).toEqual([]);
    const kinds = ['unit', 'e2e', 'chaos', 'random', 'browser'];
    expect(specs.filter((spec) => takenBy(kinds, spec) !== 1)).toEqual([]);
  });

  it('run the requested files of a tier, and no others', () => {
    const args = jestArguments({ paths: ['[.]spec[.]ts$'], ignored: [], workers: 1 }, [
      ...['ledger', 'test/e2e', '-t', 'a name'],
    ]);
    expect(args.slice(-2)).toEqual(['-t', 'a name']);
    const pattern = new RegExp(args[args.indexOf('--testPathPatterns') + 1] ?? '');
    const paths = [
      '/libs/ledger.spec.ts',
      '/test/e2e/x.spec.ts',
      '/libs/ledger.ts',
      '/libs/x.spec.ts',
    ];
    expect(paths.filter((path) => pattern.test(path))).toEqual(paths.slice(0, 2));
  });
});
