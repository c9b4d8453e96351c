import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { DOCUMENT } from './read-documents.mjs';

const require = createRequire(import.meta.url);

const SHOWN = 5;

/** Where the document, its references resolved, is none by the specification's own JSON Schema. */
export function specificationProblems(document) {
  const version = document.asyncapi;
  let specification;
  try {
    specification = require(`@asyncapi/specs/schemas/${version}-without-$id.json`);
  } catch {
    return [`${DOCUMENT}: there is no AsyncAPI ${version}`];
  }
  // strict mode is for schemas of our own
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  if (ajv.validate(specification, document)) return [];
  return deepest(ajv.errors).map(({ instancePath, message, params }) => {
    return `${DOCUMENT}${instancePath}: ${message} ${JSON.stringify(params)}`;
  });
}

/** Of all alternatives that do not fit, those errors tell most that lie deepest. */
function deepest(errors) {
  const depth = ({ instancePath }) => instancePath.split('/').length;
  return errors.sort((a, b) => depth(b) - depth(a)).slice(0, SHOWN);
}
