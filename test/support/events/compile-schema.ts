import { Ajv, type ErrorObject } from 'ajv';
import formats from 'ajv-formats';
import { DOCUMENTED_SCHEMAS, type Schema } from './event-documents.js';

/** Returns the faults of a value, as text; empty if there is none. */
export type FaultsOf = (value: unknown) => string[];

/** References between the files are relative; they need a base, whose value does not matter. */
const DOCS = 'file:///docs/';

const ajv = new Ajv({ allErrors: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);
for (const [name, schema] of DOCUMENTED_SCHEMAS) ajv.addSchema(schema, `${DOCS}${name}`);

const compiled = new Map<string, FaultsOf>();

/** A schema as in docs/asyncapi.yaml: its references are relative to that document. */
export function compileSchema(schema: Schema): FaultsOf {
  const text = JSON.stringify(schema);
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const validate = ajv.compile({ $id: `${DOCS}${compiled.size}`, allOf: [schema] });
  const faultsOf: FaultsOf = (value) =>
    validate(value) ? [] : (validate.errors ?? []).map(inWords);
  compiled.set(text, faultsOf);
  return faultsOf;
}

function inWords({ instancePath, message = 'is wrong', params }: ErrorObject): string {
  const allowed: unknown = params['allowedValues'] ?? params['allowedValue'];
  const suffix = allowed === undefined ? '' : ` ${JSON.stringify(allowed)}`;
  return `${instancePath === '' ? 'it' : instancePath} ${message}${suffix}`;
}
