import { follow, inlined, referencesIn } from './references.mjs';
import { schemaProblems } from './schema-problems.mjs';
import { specificationProblems } from './specification-problems.mjs';
import { DOCUMENT, SCHEMA_FOLDER } from './read-documents.mjs';

/** An operation has to refer to its channel and its messages; both must not stand there in full. */
const KEPT = /^\/operations\/[^/]+\/(channel|messages\/\d+)$/;

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
