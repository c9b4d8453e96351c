import { createRequire } from 'node:module';
import { posix } from 'node:path';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { DOCUMENT, SCHEMA_FOLDER } from './read-documents.mjs';

/** An operation has to refer to its channel and its messages; both must not stand there in full. */
const KEPT = /^\/operations\/[^/]+\/(channel|messages\/\d+)$/;
/** Of the errors by the specification. */
const SHOWN = 5;

/** What is wrong with the document and its schemas, a sentence each. */
export function problemsOf(documents) {
  const broken = brokenReferences(documents);
  // what a reference fails to bring would be missing everywhere else, and only confuse
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

/** A schema or component that nothing refers to is one that somebody forgot to use. */
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

/** Compiled when first asked for: half a second of work. */
let validate;

/** Where the document, its references resolved, is none by the specification's own JSON Schema. */
function specificationProblems(document) {
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

/** Which schemas are no JSON Schema of draft 07, or hold a keyword or a format that does not exist. */
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

/** Every `$ref` below a value, as `{at, ref}`; `at` is a JSON pointer. */
function referencesIn(value, at = '') {
  if (typeof value !== 'object' || value === null) return [];
  const own = typeof value.$ref === 'string' ? [{ at, ref: value.$ref }] : [];
  const below = Object.entries(value).flatMap(([key, child]) =>
    referencesIn(child, `${at}/${escaped(key)}`),
  );
  return [...own, ...below];
}

/** Where a reference in `file` leads, as `{file, pointer, value}`; undefined if nothing is there. */
function follow(documents, file, ref) {
  const [path = '', pointer = ''] = ref.split('#', 2);
  const target = path === '' ? file : posix.join(posix.dirname(file), path);
  const keys = pointer.split('/').slice(1).map(unescaped);
  const value = keys.reduce(step, documents.get(target));
  return value === undefined ? undefined : { file: target, pointer, value };
}

/** The value with what its references lead to in their place; those that `keeps` names by pointer stay. */
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
