import { createRequire } from 'node:module';
import { field, type FramedOutput, isJsonObject, type JsonObject } from '#libs/contracts';

const STATE_EVENTS = [
  ...['machine-state-changed', 'machine-state-corrected'],
  ...['machine-observation-lost', 'machine-observation-restored'],
];
const OUTCOMES = ['applied', 'superseded', 'rejected', 'deferred'].map((kind) => `outcome-${kind}`);

/** What the values of an output may be, by the names of files in docs/schemas. */
const OUTPUTS: Readonly<Record<FramedOutput, { title: string; of: readonly string[] }>> = {
  'state-events': { title: 'A change of the state of a machine', of: STATE_EVENTS },
  'latest-states': { title: 'The latest state of a machine', of: ['machine-state'] },
  outcomes: { title: 'What became of an input message', of: OUTCOMES },
};

const readSchema = createRequire(import.meta.url) as (path: `#schemas/${string}`) => JsonObject;

/** The JSON Schema of an output, which needs no other: registries have no names of files to refer to. */
export function outputSchema(output: FramedOutput): object {
  const { title, of } = OUTPUTS[output];
  const definitions: JsonObject = {};
  const anyOf = of.map((name) => ({ $ref: local(`${name}.json`) }));
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, anyOf, definitions };

  /** Takes what a reference leads to into the definitions. */
  function local(reference: string): string {
    const [file = '', name = file] = reference.split(/\.json(?:#\/definitions\/)?/).filter(Boolean);
    if (!Object.hasOwn(definitions, name)) {
      const schema = readSchema(`#schemas/${file}`);
      // named before its parts are resolved, which may refer to it
      definitions[name] = undefined;
      definitions[name] = resolved(
        name === file ? schema : field(schema['definitions'] as JsonObject, name),
      );
    }
    return `#/definitions/${name}`;
  }

  function resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolved);
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).filter(([key]) => key !== '$schema');
    return Object.fromEntries(
      entries.map(([key, each]) => [key, key === '$ref' ? local(String(each)) : resolved(each)]),
    );
  }
}
