import { resolve } from 'node:path';
import { problemsOf } from '../../tools/check/asyncapi/problems.mjs';
import { DOCUMENT, readDocuments } from '../../tools/check/asyncapi/read-documents.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

type Json = Record<string, unknown>;

const DOCUMENTS = readDocuments(ROOT);

/** The documents with one value of one of them replaced; undefined removes it. */
function changed(file: string, path: string[], value: unknown): Map<string, unknown> {
  const documents = structuredClone(DOCUMENTS);
  const parent = path.slice(0, -1).reduce(
    (node, key) => {
      const child = node[key] as Json | undefined;
      if (child === undefined) throw new Error(`${file} has no ${key}`);
      return child;
    },
    documents.get(file) as Json,
  );
  const last = path.at(-1) ?? '';
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else parent[last] = value;
  return documents;
}

const LOST = ['components', 'messages', 'observationLost'];
const SCHEMA = 'schemas/machine-state.json';

describe('the check of topics and events', () => {
  it('finds no fault in the documents', () => {
    expect(problemsOf(DOCUMENTS)).toEqual([]);
  });

  it.each<[string, string, string[], unknown, RegExp]>([
    [
      'a reference within the document that leads nowhere',
      DOCUMENT,
      [...LOST, 'bindings', '$ref'],
      '#/components/messageBindings/typo',
      /observationLost\/bindings: .*typo leads nowhere/,
    ],
    [
      'a schema that is not there',
      DOCUMENT,
      [...LOST, 'payload', '$ref'],
      './schemas/typo.json',
      /observationLost\/payload: .*typo.json leads nowhere/,
    ],
    [
      'a reference between schemas that leads nowhere',
      SCHEMA,
      ['properties', 'machineId', '$ref'],
      'definitions.json#/definitions/typo',
      /^schemas\/machine-state.json\/properties\/machineId: .* leads nowhere/,
    ],
    [
      'a reference to what does not belong there',
      DOCUMENT,
      [...LOST, 'bindings', '$ref'],
      '#/components/channelBindings/deleted',
      /bindings/,
    ],
    [
      'what the specification does not know',
      DOCUMENT,
      ['channels', 'states', 'topic'],
      'x',
      /\/channels\/states: must NOT have additional properties .*topic/,
    ],
    [
      'what the specification wants to see',
      DOCUMENT,
      ['info', 'version'],
      undefined,
      /\/info: must have required property 'version'/,
    ],
    ['another version', DOCUMENT, ['asyncapi'], '2.6.0', /\/asyncapi: must be equal to constant/],
    ['a message nobody sends', DOCUMENT, ['components', 'messages', 'x'], {}, /x: nothing refers/],
    [
      'a topic without an operation',
      DOCUMENT,
      ['operations', 'publishStates'],
      undefined,
      /asyncapi.yaml#\/channels\/states: nothing refers to it/,
    ],
    ['a keyword that does not exist', SCHEMA, ['requires'], [], /unknown keyword: "requires"/],
    ['a type that does not exist', SCHEMA, ['type'], 'record', /type must be/],
    [
      'a format that does not exist',
      SCHEMA,
      ['properties', 'displayName', 'format'],
      'name',
      /unknown format "name"/,
    ],
  ])('finds %s', (_, file, path, value, complaint) => {
    expect(problemsOf(changed(file, path, value))).toContainEqual(expect.stringMatching(complaint));
  });

  it('finds an unused schema', () => {
    const documents = new Map([...DOCUMENTS, ['schemas/forgotten.json', { type: 'string' }]]);
    expect(problemsOf(documents)).toEqual(['schemas/forgotten.json#: nothing refers to it']);
  });
});
