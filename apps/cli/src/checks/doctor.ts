import {
  type BridgeSettings,
  describeBridgeSettings,
  loadBridgeSettings,
  readEnvironment,
} from '#libs/config';
import { VERSION } from '#libs/program';
import { FRAMED_OUTPUTS, type FramedOutput } from '#libs/contracts';
import { outputSchema, reachRegistry, trySchema } from '#libs/schema-registry';
import { type ErpAnswer, openErpClient } from '#libs/erp-client';
import { type EnrichmentRule, enrichmentUrl } from '#libs/erp-formats';
import { type BridgeAnswer, bridgeHttp, has, jsonOf } from '../command-line/bridge.js';
import { type CliCommand, JSON_OPTION } from '../command-line/command.js';
import { EXIT_CODES, UnreachableError } from '../command-line/exit-codes.js';
import { exitCodeOf, type Finding, printFindings } from '../command-line/findings.js';
import { readUrl } from '../command-line/option-values.js';
import { print, printProgress, tableLines, visible, visibleJson } from '../command-line/output.js';
import { checkGroup, checkKafka } from './check-kafka.js';
import { checkService } from './check-service.js';

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
    .option(
      '--url <url>',
      'of the bridge, in place of BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT',
      readUrl,
    )
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

/** Prints the findings of each check once it ends, and sets the exit code of all so far: nobody may read the rest. */
async function report(
  checks: readonly (() => Promise<readonly Finding[]>)[],
  json: boolean,
): Promise<void> {
  const findings: Finding[] = [];
  for (const check of checks) {
    printProgress('checking …');
    const found = await check();
    findings.push(...found);
    process.exitCode = exitCodeOf(findings);
    printFindings(found, json);
  }
}

/** The answer of `/health/ready`, as Terminus has it. */
interface Readiness {
  details?: Record<string, { status?: string; message?: string }>;
}

/** Health of a running bridge; its conditions one by one. */
async function checkBridge(url: string | undefined): Promise<Finding[]> {
  const bridge = bridgeHttp(url);
  const versions: Finding = {
    check: 'versions',
    status: 'ok',
    detail: `machine-bridge ${VERSION}, Node.js ${process.version} (of this command)`,
  };
  try {
    const answer = await bridge.request('/health/ready');
    const { details = {} } = (jsonOf(answer) ?? {}) as Readiness;
    if (!has(details, 'kafka', 'outcomes')) {
      const why = `/health/ready answers with ${answer.status} and other JSON than a bridge, or none`;
      throw new Error(`${bridge.url} is no bridge: ${why}`);
    }
    return [
      versions,
      { check: 'bridge', status: 'ok', detail: `answers at ${bridge.url}` },
      ...Object.entries(details).map(([name, condition]) => conditionFinding(name, condition)),
      ...metricsFindings(await bridge.request('/metrics')),
    ];
  } catch (error) {
    const isUnreachable = error instanceof UnreachableError;
    return [
      versions,
      {
        check: 'bridge',
        status: 'fail',
        detail: (error as Error).message,
        remedy: 'start it, or name another one with --url',
        ...(isUnreachable && { isUnreachable }),
      },
    ];
  }
}

function conditionFinding(
  name: string,
  { status, message = '' }: { status?: string; message?: string },
): Finding {
  const check = `bridge ${name}`;
  if (status === 'up' && message === '') return { check, status: 'ok', detail: 'ready' };
  if (status === 'up') {
    const remedy = 'once it is to go on: machine-bridge resume';
    return { check, status: 'warn', detail: message, remedy };
  }
  const remedy = 'see Health in docs/operations.md';
  return { check, status: 'fail', detail: message, remedy };
}

function metricsFindings({ status, body }: BridgeAnswer): Finding[] {
  const check = 'bridge metrics';
  if (status !== 200) {
    const detail = `/metrics answers with ${status}`;
    const remedy = 'set BRIDGE_API_TOKEN to that of the bridge';
    return [{ check, status: 'warn', detail, remedy }];
  }
  const [, offset = 'NaN'] =
    /^machine_bridge_service_clock_offset_seconds (\S+)$/m.exec(body) ?? [];
  return [
    versionFinding(body),
    { check, status: 'ok', detail: `its offset of the service's clock is ${offset} s` },
  ];
}

function versionFinding(metrics: string): Finding {
  const check = 'bridge version';
  const [, version = 'unknown'] =
    /^machine_bridge_build_info{version="([^"]*)"} 1$/m.exec(metrics) ?? [];
  const [, node = 'unknown'] = /^nodejs_version_info{version="([^"]*)"/m.exec(metrics) ?? [];
  const detail = `machine-bridge ${version}, Node.js ${node}`;
  if (version === VERSION) return { check, status: 'ok', detail };
  const remedy = `this command is ${VERSION}: use the one of the bridge's version`;
  return { check, status: 'warn', detail, remedy };
}

const TIMEOUT_MS = 5000;

const REMEDIES = {
  'no-answer':
    'start the registry, or correct KAFKA_SCHEMA_REGISTRY_URL and what is between: HTTPS_PROXY, or NODE_EXTRA_CA_CERTS for an authority of your own',
  refused:
    'correct KAFKA_SCHEMA_REGISTRY_USERNAME and KAFKA_SCHEMA_REGISTRY_PASSWORD, and grant that user to read schemas',
  failed: "see the registry's own log, then check again",
  'other-server':
    "KAFKA_SCHEMA_REGISTRY_URL must have the path of the registry's API: none for Confluent's and Karapace, /apis/ccompat/v7 for Apicurio",
} as const;

/** Reaches the schema registry, asks it for a schema and tries those of outputs; nothing without one. */
async function checkSchemaRegistry({ schemaRegistry, kafka }: BridgeSettings): Promise<Finding[]> {
  if (schemaRegistry === undefined) return [];
  const check = 'schema registry';
  const { url } = schemaRegistry;
  const fault = await reachRegistry(schemaRegistry, TIMEOUT_MS);
  if (fault !== undefined) return [unavailable(check, url, fault)];
  const findings: Finding[] = [{ check, status: 'ok', detail: `answers at ${url}` }];
  for (const output of schemaRegistry.outputs) {
    findings.push(await outputFinding(output, schemaRegistry, kafka.topicPrefix));
  }
  return findings;
}

async function outputFinding(
  output: FramedOutput,
  registry: NonNullable<BridgeSettings['schemaRegistry']>,
  topicPrefix: string,
): Promise<Finding> {
  const check = `schema of ${output}`;
  const subject = `${topicPrefix}${FRAMED_OUTPUTS[output]}-value`;
  const tried = await trySchema(registry, TIMEOUT_MS, { subject, schema: outputSchema(output) });
  switch (tried.kind) {
    case 'registered':
      return { check, status: 'ok', detail: `registered as ${subject}` };
    case 'new':
      return { check, status: 'ok', detail: `the bridge registers it as ${subject} at its start` };
    case 'incompatible':
      return {
        check,
        status: 'fail',
        detail: `not compatible with the latest one of ${subject}: the bridge would not start`,
        remedy: 'set the compatibility of the subject to FORWARD or NONE',
      };
    case 'unavailable':
      return unavailable(check, registry.url, tried);
    default:
      return tried satisfies never;
  }
}

function unavailable(
  check: string,
  url: string,
  { cause, why }: { cause: keyof typeof REMEDIES; why: string },
): Finding {
  return {
    check,
    status: 'fail',
    detail: `${url}: ${why}`,
    remedy: REMEDIES[cause],
    ...(cause === 'no-answer' && { isUnreachable: true }),
  };
}

/** What stands in an address for an order, a plant or a company: it leads to nothing, or is refused as no number. */
const NO_ORDER = 'machine-bridge-check';
const FILE = 'ERP_ENRICHMENT_FILE';

/** Asks each ERP that completes orders for one that it does not have; nothing without enrichment rules. */
async function checkErps(settings: BridgeSettings): Promise<Finding[]> {
  if (!settings.flows.has('work-orders')) return [];
  return Promise.all(settings.erp.enrichment.all.map((rule) => checkErp(rule, settings)));
}

async function checkErp(rule: EnrichmentRule, settings: BridgeSettings): Promise<Finding> {
  const client = openErpClient(rule, settings);
  try {
    const names = new Proxy<Record<string, string>>({}, { get: () => NO_ORDER });
    const { pathname, search } = new URL(enrichmentUrl(rule, names));
    const answer = await client.get(`${pathname}${search}`, new AbortController().signal);
    return { check: `erp ${rule.name}`, ...findingOf(rule, answer) };
  } finally {
    await client.close();
  }
}

function findingOf(rule: EnrichmentRule, answer: ErpAnswer): Omit<Finding, 'check'> {
  const { name } = rule;
  const { origin } = new URL(enrichmentUrl(rule, {}));
  switch (answer.kind) {
    case 'document':
      return { status: 'ok', detail: `${origin} answers` };
    case 'gone':
      return {
        status: 'ok',
        detail:
          answer.status < 300
            ? `${origin} answers`
            : `${origin} answers ${answer.status} to an order it lacks; a wrong url would have that answer, too`,
      };
    case 'refused':
      // a key that is no number, or a login that the rule does not have: the ERP may mean either
      return {
        status: 'warn',
        detail: `${origin}: ${answer.why} to an order it lacks`,
        remedy: `nothing if it answers so to orders it lacks, else correct url and headers of rule ${name} in ${FILE}`,
      };
    case 'unauthorised':
      return {
        status: 'fail',
        detail: `${origin}: ${answer.why}`,
        remedy:
          answer.status === 401
            ? `correct auth of rule ${name} in ${FILE}, or the secret that it names`
            : `grant the login of rule ${name} to read production orders`,
      };
    case 'retry':
      return {
        status: 'fail',
        detail: `${origin}: ${answer.why}`,
        remedy: `correct url, caFile and proxy of rule ${name} in ${FILE}, or start the ERP`,
        ...(answer.status === null && { isUnreachable: true }),
      };
    default:
      return answer satisfies never;
  }
}
