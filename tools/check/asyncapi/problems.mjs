import { createRequire } from 'node:module';
import { posix } from 'node:path';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { DOCUMENT, SCHEMA_FOLDER } from './read-documents.mjs';

/** An operation must refer to its channel and messages; it must not contain them in full. */
const KEPT = /^\/operations\/[^/]+\/(channel|messages\/\d+)$/;
/** Errors by the specification that are shown at most. */
const SHOWN = 5;

/** Problems of the document and its schemas, one sentence each. */
export function problemsOf(documents) {
  const broken = brokenReferences(documents);
  // Other checks would report the same content as missing again.
  if (broken.length > 0) return broken;
  const whole = inlined(documents, DOCUMENT, documents.get(DOCUMENT), (at) => KEPT.test(at));
  return [...specificationProblems(whole), ...schemaProblems(documents), ...unused(documents)];
}

function brokenReferences(documents) {
  return [...documents].flatMap(([file, content]) =>
    referencesIn(content)
      .filter(({ ref }) => follow(documents, file, ref) === undefined)
      .map(({ at, ref }) => `${file}${at}: ${ref} leads nowhere`),
  );
}

/** Schemas and components without a reference: somebody forgot to use them. */
function unused(documents) {
  const targets = [...documents].flatMap(([file, content]) =>
    referencesIn(content).map(({ ref }) => {
      const target = follow(documents, file, ref);
      return `${target.file}#${target.pointer}/`;
    }),
  );
  return offered(documents)
    .filter((place) => !targets.some((target) => target.startsWith(`${place}/`)))
    .map((place) => `${place}: nothing refers to it`);
}

function offered(documents) {
  const { channels = {}, components = {} } = documents.get(DOCUMENT);
  const kinds = Object.entries({ channels, ...below('components', components) });
  const parts = kinds.flatMap(([kind, entries]) =>
    Object.keys(entries).map((name) => `${DOCUMENT}#/${kind}/${name}`),
  );
  const files = [...documents.keys()].filter((file) => file.startsWith(`${SCHEMA_FOLDER}/`));
  return [...parts, ...files.map((file) => `${file}#`)];
}

function below(parent, children) {
  const entries = Object.entries(children);
  return Object.fromEntries(entries.map(([name, child]) => [`${parent}/${name}`, child]));
}

/** Compiled at first use, because it takes half a second. */
let validate;

/** Errors of the document, with its references resolved, by the specification's own JSON Schema. */
function specificationProblems(document) {
  validate ??= compileSpecification();
  if (validate(document)) return [];
  return deepest(validate.errors).map(({ instancePath, message, params }) => {
    return `${DOCUMENT}${instancePath}: ${message} ${JSON.stringify(params)}`;
  });
}

function compileSpecification() {
  // `require`, because the oldest supported Node warns when it imports JSON
  const require = createRequire(import.meta.url);
  const specification = require('@asyncapi/specs/schemas/3.0.0-without-$id.json');
  // strict mode is for this repository's schemas
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  return ajv.compile(specification);
}

/** If several alternatives fail, the deepest errors say most. */
function deepest(errors) {
  const depth = ({ instancePath }) => instancePath.split('/').length;
  return errors.sort((a, b) => depth(b) - depth(a)).slice(0, SHOWN);
}

/** Schemas that are not JSON Schema of draft 07, or use an unknown keyword or format. */
function schemaProblems(documents) {
  const schemas = [...documents].filter(([file]) => file.startsWith(`${SCHEMA_FOLDER}/`));
  const ajv = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true });
  formats.default(ajv);
  const problems = [];
  const attempt = (file, act) => {
    try {
      act();
    } catch (error) {
      problems.push(`${file}: ${error.message}`);
    }
  };
  for (const [file, schema] of schemas) attempt(file, () => ajv.addSchema(schema, file));
  for (const [file] of schemas) attempt(file, () => ajv.getSchema(file));
  return problems;
}

/** Every `$ref` in a value, as `{at, ref}`; `at` is a JSON pointer. */
function referencesIn(value, at = '') {
  if (typeof value !== 'object' || value === null) return [];
  const own = typeof value.$ref === 'string' ? [{ at, ref: value.$ref }] : [];
  const below = Object.entries(value).flatMap(([key, child]) =>
    referencesIn(child, `${at}/${escaped(key)}`),
  );
  return [...own, ...below];
}

/** The target of a reference in `file`, as `{file, pointer, value}`; undefined if it does not exist. */
function follow(documents, file, ref) {
  const [path = '', pointer = ''] = ref.split('#', 2);
  const target = path === '' ? file : posix.join(posix.dirname(file), path);
  const keys = pointer.split('/').slice(1).map(unescaped);
  const value = keys.reduce(step, documents.get(target));
  return value === undefined ? undefined : { file: target, pointer, value };
}

/** The value with its references replaced by their targets, except those whose pointers `keeps` accepts. */
function inlined(documents, file, value, keeps, at = '') {
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$ref === 'string' && !keeps(at)) {
    const target = follow(documents, file, value.$ref);
    return target && inlined(documents, target.file, target.value, keeps, at);
  }
  if (Array.isArray(value)) {
    return value.map((child, i) => inlined(documents, file, child, keeps, `${at}/${i}`));
  }
  const entries = Object.entries(value).map(([key, child]) => [
    key,
    inlined(documents, file, child, keeps, `${at}/${escaped(key)}`),
  ]);
  return Object.fromEntries(entries);
}

function step(value, key) {
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isThere ? value[key] : undefined;
}

function escaped(key) {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescaped(key) {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
