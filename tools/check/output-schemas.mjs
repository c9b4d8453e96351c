// Whether the schemas that the bridge registers of its outputs are those of docs/schemas (`--write` makes them anew).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { ROOT } from '../setup/root.mjs';
import { say } from '../setup/steps.mjs';

const FILE = 'libs/schema-registry/src/output-schemas.ts';
const STATE_EVENTS = [
  ...['machine-state-changed', 'machine-state-corrected'],
  ...['machine-observation-lost', 'machine-observation-restored'],
];
const OUTCOMES = ['applied', 'superseded', 'rejected', 'deferred'].map((kind) => `outcome-${kind}`);
const OUTPUTS = {
  'state-events': { title: 'A change of the state of a machine', of: STATE_EVENTS },
  'latest-states': { title: 'The latest state of a machine', of: ['machine-state'] },
  outcomes: { title: 'What became of an input message', of: OUTCOMES },
};

/** One schema that needs no other: registries have no file names to refer to. */
function outputSchema({ title, of }) {
  const definitions = {};
  const take = (name) => {
    if (name in definitions) return;
    const schema = readSchema(name);
    delete schema.$schema;
    definitions[name] = schema;
    definitions[name] = resolved(schema);
  };
  of.forEach(take);
  const anyOf = of.map((name) => ({ $ref: `#/definitions/${name}` }));
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, anyOf, definitions };

  function resolved(value) {
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        key,
        key === '$ref' ? local(each) : resolved(each),
      ]),
    );
  }

  function local(reference) {
    const [, file, name] = /^([\w-]+)\.json(?:#\/definitions\/(\w+))?$/.exec(reference);
    if (name === undefined) take(file);
    else definitions[name] ??= resolved(readSchema(file).definitions[name]);
    return `#/definitions/${name ?? file}`;
  }
}

function readSchema(name) {
  return JSON.parse(readFileSync(join(ROOT, `docs/schemas/${name}.json`), 'utf8'));
}

const schemas = Object.fromEntries(
  Object.entries(OUTPUTS).map(([name, output]) => [name, outputSchema(output)]),
);
const source = `import type { FramedOutput } from '#libs/contracts';

/** Made of docs/schemas by tools/check/output-schemas.mjs: the image of the bridge has no docs. */
export const OUTPUT_SCHEMAS: Readonly<Record<FramedOutput, object>> = ${JSON.stringify(schemas)};
`;
const path = join(ROOT, FILE);
const options = { ...(await prettier.resolveConfig(path)), filepath: path };
const text = await prettier.format(source, options);
if (process.argv.includes('--write')) writeFileSync(path, text);
else if (readFileSync(path, 'utf8') !== text) {
  say(`${FILE} is not of docs/schemas, run: node tools/check/output-schemas.mjs --write`);
  process.exitCode = 1;
}
