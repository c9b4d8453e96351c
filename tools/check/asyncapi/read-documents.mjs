import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const DOCUMENT = 'asyncapi.yaml';
export const SCHEMA_FOLDER = 'schemas';

/** The contents of docs/asyncapi.yaml and docs/schemas/*.json, by path below docs/. */
export function readDocuments(root) {
  const docs = join(root, 'docs');
  const files = readdirSync(join(docs, SCHEMA_FOLDER)).filter((file) => file.endsWith('.json'));
  const names = [DOCUMENT, ...files.map((file) => `${SCHEMA_FOLDER}/${file}`)];
  return new Map(names.map((name) => [name, read(join(docs, name))]));
}

function read(path) {
  try {
    // JSON is YAML. This parser rejects a key that is given twice; JSON.parse would take the last one.
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${error.message}`, { cause: error });
  }
}
