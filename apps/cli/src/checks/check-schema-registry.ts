import type { BridgeSettings } from '#libs/config';
import { FRAMED_OUTPUTS, type FramedOutput } from '#libs/contracts';
import { OUTPUT_SCHEMAS, reachRegistry, trySchema } from '#libs/schema-registry';
import type { Finding } from '../command-line/findings.js';

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
export async function checkSchemaRegistry({
  schemaRegistry,
  kafka,
}: BridgeSettings): Promise<Finding[]> {
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
  const tried = await trySchema(registry, TIMEOUT_MS, { subject, schema: OUTPUT_SCHEMAS[output] });
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
