import { Ajv, type ErrorObject } from 'ajv';
import formats from 'ajv-formats';
import { DOCUMENTED_SCHEMAS, type Schema } from './event-documents.js';

/** What is wrong with a value, in words; none when nothing is. */
export type FaultsOf = (value: unknown) => string[];

/** References between the files are relative: they need a place to start from, which nobody asks for. */
const DOCS = 'file:///docs/';

const ajv = new Ajv({ allErrors: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);
for (const [name, schema] of DOCUMENTED_SCHEMAS) ajv.addSchema(schema, `${DOCS}${name}`);

let compiled = 0;

/** A schema as it stands in docs/asyncapi.yaml: its references are relative to that document. */
export function compileSchema(schema: Schema): FaultsOf {
  compiled += 1;
  const validate = ajv.compile({ $id: `${DOCS}${compiled}`, allOf: [schema] });
  return (value) => (validate(value) ? [] : (validate.errors ?? []).map(inWords));
}

function inWords({ instancePath, message = 'is wrong', params }: ErrorObject): string {
  const allowed: unknown = params['allowedValues'] ?? params['allowedValue'];
  const suffix = allowed === undefined ? '' : ` ${JSON.stringify(allowed)}`;
  return `${instancePath === '' ? 'it' : instancePath} ${message}${suffix}`;
}
