import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { DOCUMENT } from './read-documents.mjs';

const SHOWN = 5;

/** Compiled when first asked for: half a second of work. */
let validate;

/** Where the document, its references resolved, is none by the specification's own JSON Schema. */
export function specificationProblems(document) {
  validate ??= compileSpecification();
  if (validate(document)) return [];
  return deepest(validate.errors).map(({ instancePath, message, params }) => {
    return `${DOCUMENT}${instancePath}: ${message} ${JSON.stringify(params)}`;
  });
}

function compileSpecification() {
  // JSON is imported by require until the oldest Node supported can import it without a warning
  const require = createRequire(import.meta.url);
  const specification = require('@asyncapi/specs/schemas/3.0.0-without-$id.json');
  // strict mode is for schemas of our own
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  return ajv.compile(specification);
}

/** Of all alternatives that do not fit, the deepest errors say most. */
function deepest(errors) {
  const depth = ({ instancePath }) => instancePath.split('/').length;
  return errors.sort((a, b) => depth(b) - depth(a)).slice(0, SHOWN);
}
