import type { BridgeSettings } from '#libs/config';
import { reachRegistry } from '#libs/schema-registry';
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

/** Reaches the schema registry and asks it for a schema; nothing without one. */
export async function checkSchemaRegistry({
  schemaRegistry,
}: Pick<BridgeSettings, 'schemaRegistry'>): Promise<Finding[]> {
  if (schemaRegistry === undefined) return [];
  const check = 'schema registry';
  const { url } = schemaRegistry;
  const fault = await reachRegistry(schemaRegistry, TIMEOUT_MS);
  if (fault === undefined) return [{ check, status: 'ok', detail: `answers at ${url}` }];
  const { cause, why } = fault;
  return [
    {
      check,
      status: 'fail',
      detail: `${url}: ${why}`,
      remedy: REMEDIES[cause],
      ...(cause === 'no-answer' && { isUnreachable: true }),
    },
  ];
}
