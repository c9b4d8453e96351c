import {
  type BridgeSettings,
  describeBridgeSettings,
  loadBridgeSettings,
  readEnvironment,
} from '#libs/config';
import { VERSION } from '#libs/program';
import { FRAMED_OUTPUTS, type FramedOutput, type GroupFlow } from '#libs/contracts';
import { outputSchema, reachRegistry, trySchema } from '#libs/schema-registry';
import { type ErpAnswer, ErpClient } from '#libs/erp-client';
import type { EnrichmentRule } from '#libs/erp-formats';
import {
  type BridgeAnswer,
  bridgeHttp,
  hasFields,
  isListOf,
  jsonOf,
} from '../command-line/bridge.js';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { EXIT_CODES, UnreachableError } from '../command-line/exit-codes.js';
import {
  exitCodeOfFindings,
  failure,
  type Finding,
  passed,
  printFindings,
  unreachable,
  warning,
} from '../command-line/findings.js';
import { readUrl } from '../command-line/option-values.js';
import { printProgress, printRecords } from '../command-line/output.js';
import { checkGroup, checkKafka, checkKeys } from './check-kafka.js';
import { checkService } from './check-service.js';

interface DoctorOptions extends JsonOptions {
  url?: string;
}

const HELP = `
Nothing is written: operations of the service that write are called without a machine. Whether the bridge may write to
its topics shows when it does, in its health.`;

export function addCheckCommands(program: CliCommand): void {
  program
    .addGroup('config', 'Checks the settings of the bridge.')
    .command('check')
    .description(
      'Shows every setting with its source, reaches Kafka, the schema registry, the service and ERPs with them, and says what is wrong.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', HELP)
    .action(({ json = false }: JsonOptions) => checkConfiguration(json));
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
    .action(runDoctor);
}

async function checkConfiguration(json: boolean): Promise<void> {
  const { settings, problems } = describeBridgeSettings(readEnvironment());
  const records = settings.map((setting) => ({ kind: 'setting', ...setting }));
  printRecords(records, json, {
    heading: ['setting', 'source', 'value'],
    cells: ({ name, source, value }) => [name, source, value ?? '-'],
  });
  if (problems.length > 0) {
    printFindings(problems.map(problemFinding), json);
    process.exitCode = EXIT_CODES.settings;
    return;
  }
  await runChecks(
    [checkUnsupported, checkKafka, checkSchemaRegistry, checkService, checkErps],
    json,
  );
}

function problemFinding(problem: string): Finding {
  const [check = '', ...rest] = problem.split(' ');
  return failure(check, rest.join(' '), 'correct it, then check again');
}

function checkUnsupported({ unsupported }: BridgeSettings): Finding[] {
  return unsupported.map(({ name, instead }) => warning(name, 'has no effect', instead));
}

async function runDoctor({ url, json = false }: DoctorOptions): Promise<void> {
  const external = [checkSchemaRegistry, checkService, checkErps, () => checkBridge(url)];
  await runChecks([checkUnsupported, checkKafka, checkGroup, ...external, checkKeys], json);
}

type Check = (settings: BridgeSettings) => readonly Finding[] | Promise<readonly Finding[]>;

/** Prints the findings after each check and sets the exit code so far: the reader may close the pipe at any time. */
async function runChecks(checks: readonly Check[], json: boolean): Promise<void> {
  const settings = loadBridgeSettings(readEnvironment());
  const findings: Finding[] = [];
  for (const check of checks) {
    printProgress('checking …');
    const found = await check(settings);
    findings.push(...found);
    process.exitCode = exitCodeOfFindings(findings);
    printFindings(found, json);
  }
}

/** The answer of `/health/ready`, in the format of Terminus. */
interface Readiness {
  details?: Record<string, { status?: string; message?: string }>;
}

async function checkBridge(url: string | undefined): Promise<Finding[]> {
  const bridge = bridgeHttp(url);
  const versions = passed(
    'versions',
    `machine-bridge ${VERSION}, Node.js ${process.version} (of this command)`,
  );
  try {
    const answer = await bridge.request('/health/ready');
    const { details = {} } = (jsonOf(answer) ?? {}) as Readiness;
    if (!hasFields(details, 'kafka', 'outcomes')) {
      const why = `/health/ready answers with ${answer.status} and other JSON than a bridge, or none`;
      throw new Error(`${bridge.url} is no bridge: ${why}`);
    }
    return [
      versions,
      passed('bridge', `answers at ${bridge.url}`),
      ...Object.entries(details).map(([name, condition]) => conditionFinding(name, condition)),
      ...metricsFindings(await bridge.request('/metrics')),
      ...ownerFindings(await bridge.request('/api/flows').catch(() => undefined)),
    ];
  } catch (error) {
    const finding = error instanceof UnreachableError ? unreachable : failure;
    const remedy = 'start it, or name another one with --url';
    return [versions, finding('bridge', (error as Error).message, remedy)];
  }
}

function conditionFinding(
  name: string,
  { status, message = '' }: { status?: string; message?: string },
): Finding {
  const check = `bridge ${name}`;
  if (status !== 'up') return failure(check, message, 'see Health in docs/operations.md');
  if (message === '') return passed(check, 'ready');
  return warning(check, message, 'once it is to go on: machine-bridge resume');
}

function metricsFindings({ status, body }: BridgeAnswer): Finding[] {
  const check = 'bridge metrics';
  if (status !== 200) {
    const detail = `/metrics answers with ${status}`;
    return [warning(check, detail, 'set BRIDGE_API_TOKEN to that of the bridge')];
  }
  const [, offset = 'NaN'] =
    /^machine_bridge_service_clock_offset_seconds (\S+)$/m.exec(body) ?? [];
  return [versionFinding(body), passed(check, `its offset of the service's clock is ${offset} s`)];
}

/** Two processes that own the same partition belong to different groups, unless the partition has just moved. */
function ownerFindings(answer: BridgeAnswer | undefined): Finding[] {
  // the finding of /metrics reports the token
  if (answer?.status === 401) return [];
  const check = 'bridge partitions';
  const flows = answer && jsonOf(answer);
  if (!isListOf('name', 'processes')(flows)) {
    const what = answer === undefined ? 'nothing' : `${answer.status}, and not with the flows`;
    return [warning(check, `/api/flows answers with ${what}`, 'run doctor again')];
  }
  const places = (flows as GroupFlow[])
    .flatMap(({ processes }) => processes)
    .flatMap(({ process, partitions }) =>
      Object.entries(partitions).flatMap(([topic, owned]) =>
        owned.map((partition) => ({ process, place: `partition ${partition} of ${topic}` })),
      ),
    );
  const owners = new Map<string, string>();
  for (const { process, place } of places) {
    const owner = owners.get(place) ?? process;
    if (owner !== process) {
      const remedy =
        'run doctor again in 30 seconds: if it still says so, one has another KAFKA_GROUP_ID: stop it, or give it a KAFKA_TOPIC_PREFIX of its own';
      return [warning(check, `${owner} and ${process} both have ${place}`, remedy)];
    }
    owners.set(place, process);
  }
  return [passed(check, 'each is of one process')];
}

function versionFinding(metrics: string): Finding {
  const check = 'bridge version';
  const [, version = 'unknown'] =
    /^machine_bridge_build_info{version="([^"]*)"} 1$/m.exec(metrics) ?? [];
  const [, node = 'unknown'] = /^nodejs_version_info{version="([^"]*)"/m.exec(metrics) ?? [];
  const detail = `machine-bridge ${version}, Node.js ${node}`;
  if (version === VERSION) return passed(check, detail);
  return warning(check, detail, `this command is ${VERSION}: use the one of the bridge's version`);
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

async function checkSchemaRegistry({ schemaRegistry, kafka }: BridgeSettings): Promise<Finding[]> {
  if (schemaRegistry === undefined) return [];
  const check = 'schema registry';
  const { url } = schemaRegistry;
  const fault = await reachRegistry(schemaRegistry, TIMEOUT_MS);
  if (fault !== undefined) return [registryFinding(check, url, fault)];
  const findings = [passed(check, `answers at ${url}`)];
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
      return passed(check, `registered as ${subject}`);
    case 'new':
      return passed(check, `the bridge registers it as ${subject} at its start`);
    case 'incompatible':
      return failure(
        check,
        `not compatible with the latest one of ${subject}: the bridge would not start`,
        'set the compatibility of the subject to FORWARD or NONE',
      );
    case 'unavailable':
      return registryFinding(check, registry.url, tried);
    default:
      return tried satisfies never;
  }
}

function registryFinding(
  check: string,
  url: string,
  { cause, why }: { cause: keyof typeof REMEDIES; why: string },
): Finding {
  const finding = cause === 'no-answer' ? unreachable : failure;
  return finding(check, `${url}: ${why}`, REMEDIES[cause]);
}

/** Replaces order, plant and company in a URL: the ERP does not find it, or refuses it because it is not a number. */
const NO_ORDER = 'machine-bridge-check';
const FILE = 'ERP_ENRICHMENT_FILE';

/** Requests an order that does not exist from the ERP of each enrichment rule. */
async function checkErps(settings: BridgeSettings): Promise<Finding[]> {
  if (!settings.flows.has('work-orders')) return [];
  return Promise.all(settings.erp.enrichment.all.map((rule) => checkErp(rule, settings)));
}

async function checkErp(rule: EnrichmentRule, settings: BridgeSettings): Promise<Finding> {
  const client = new ErpClient(rule, settings);
  try {
    const names = new Proxy<Record<string, string>>({}, { get: () => NO_ORDER });
    const answer = await client.getDocument(client.pathOf(names), new AbortController().signal);
    return erpFinding(rule, client.origin, answer);
  } finally {
    await client.closeConnections();
  }
}

function erpFinding({ name }: EnrichmentRule, origin: string, answer: ErpAnswer): Finding {
  const check = `erp ${name}`;
  switch (answer.kind) {
    case 'document':
      return passed(check, `${origin} answers`);
    case 'gone':
      return passed(
        check,
        answer.status < 300
          ? `${origin} answers`
          : `${origin} answers ${answer.status} to an order it lacks; a wrong url would have that answer, too`,
      );
    case 'refused':
      // the ERP may refuse the key, which is not a number, or the missing login
      return warning(
        check,
        `${origin}: ${answer.why} to an order it lacks`,
        `nothing if it answers so to orders it lacks, else correct url and headers of rule ${name} in ${FILE}`,
      );
    case 'unauthorised':
      return failure(
        check,
        `${origin}: ${answer.why}`,
        answer.status === 401
          ? `correct auth of rule ${name} in ${FILE}, or the secret that it names`
          : `grant the login of rule ${name} to read production orders`,
      );
    case 'retry':
      return (answer.status === null ? unreachable : failure)(
        check,
        `${origin}: ${answer.why}`,
        `correct url, caFile and proxy of rule ${name} in ${FILE}, or start the ERP`,
      );
    default:
      return answer satisfies never;
  }
}
