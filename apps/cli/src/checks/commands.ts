import { describeBridgeSettings, loadBridgeSettings, readEnvironment } from '#libs/config';
import { type CliCommand, JSON_OPTION } from '../command-line/command.js';
import { EXIT_CODES } from '../command-line/exit-codes.js';
import { print, printProgress, tableLines, visible, visibleJson } from '../command-line/output.js';
import { checkBridge } from './check-bridge.js';
import { checkErps } from './check-erps.js';
import { checkGroup, checkKafka } from './check-kafka.js';
import { checkSchemaRegistry } from './check-schema-registry.js';
import { checkService } from './check-service.js';
import { exitCodeOf, type Finding, printFindings } from '../command-line/findings.js';

interface CheckOptions {
  json?: boolean;
}

interface DoctorOptions extends CheckOptions {
  url?: string;
}

const HELP = `
Nothing is written: operations of the service that write are called without a machine. Whether the bridge may write to
its topics shows when it does, in its health.`;

/** `config check` and `doctor`. */
export function addCheckCommands(program: CliCommand): void {
  program
    .group('config', 'Checks the settings of the bridge.')
    .command('check')
    .description(
      'Shows every setting with its source, reaches Kafka, the schema registry, the service and ERPs with them, and says what is wrong.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', HELP)
    .action(({ json = false }: CheckOptions) => checkConfiguration(json));
  program
    .command('doctor')
    .description(
      'Checks Kafka, the schema registry, the service, ERPs and a running bridge, and says what to do.',
    )
    .option('--url <url>', 'of the bridge, in place of BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT')
    .option(...JSON_OPTION)
    .addHelpText('after', HELP)
    .action(diagnose);
}

async function checkConfiguration(json: boolean): Promise<void> {
  const { settings, problems } = describeBridgeSettings(readEnvironment());
  if (json) {
    for (const setting of settings) print(visibleJson({ kind: 'setting', ...setting }));
  } else {
    const rows = settings.map(({ name, value, source }) => [name, source, visible(value ?? '-')]);
    tableLines([['setting', 'source', 'value'], ...rows]).forEach(print);
  }
  if (problems.length > 0) {
    printFindings(problems.map(problemFinding), json);
    process.exitCode = EXIT_CODES.settings;
    return;
  }
  const loaded = loadBridgeSettings(readEnvironment());
  await report(
    [
      () => Promise.resolve(loaded.unsupported.map(unsupportedFinding)),
      () => checkKafka(loaded),
      () => checkSchemaRegistry(loaded),
      () => checkService(loaded),
      () => checkErps(loaded),
    ],
    json,
  );
}

function problemFinding(problem: string): Finding {
  const [check = '', ...rest] = problem.split(' ');
  return { check, status: 'fail', detail: rest.join(' '), remedy: 'correct it, then check again' };
}

function unsupportedFinding({ name, instead }: { name: string; instead: string }): Finding {
  return { check: name, status: 'warn', detail: 'has no effect', remedy: instead };
}

async function diagnose({ url, json = false }: DoctorOptions): Promise<void> {
  const settings = loadBridgeSettings(readEnvironment());
  await report(
    [
      () => Promise.resolve(settings.unsupported.map(unsupportedFinding)),
      () => checkKafka(settings),
      () => checkGroup(settings),
      () => checkSchemaRegistry(settings),
      () => checkService(settings),
      () => checkErps(settings),
      () => checkBridge(url),
    ],
    json,
  );
}

/** Prints the findings of each check once it ends, and sets the exit code of all. */
async function report(
  checks: readonly (() => Promise<readonly Finding[]>)[],
  json: boolean,
): Promise<void> {
  const findings: Finding[] = [];
  for (const check of checks) {
    printProgress('checking …');
    const found = await check();
    printFindings(found, json);
    findings.push(...found);
  }
  process.exitCode = exitCodeOf(findings);
}
