// The program of the process that evaluates expressions, one after the other; see evaluator-process.ts. Plain
// JavaScript, so that node can run it from here and from dist/.
import { Worker } from 'node:worker_threads';
import jsonata from 'jsonata';

const { deadlineMs, levels, entries, resultLength } = JSON.parse(process.argv[2]);
/** The library's own guards, which it checks between steps: they report the character. */
const GUARDS = { timeout: deadlineMs, stack: levels, sequence: entries };

/** Compiled expressions by their text. */
const compiled = new Map();

/** Ends the process with its parent, also during an evaluation that blocks the main thread and its `disconnect`. */
const WATCH = `setInterval(() => {
  if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL');
}, 1000);`;

new Worker(WATCH, { eval: true });
process.on('disconnect', () => process.exit());
// Ctrl-C at a terminal reaches this process too, which still has to finish the requests of its parent
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
process.on('message', async (request) => process.send(await evaluate(request)));
process.send({ ready: true });

async function evaluate({ expression, input, variables }) {
  try {
    const result = await compiledOf(expression).evaluate(JSON.parse(input), variables);
    const json = JSON.stringify(result);
    return json?.length > resultLength ? { failure: { code: 'result' } } : { json };
  } catch (error) {
    // a function in a result is circular
    if (/^Converting circular/.test(error.message)) return { failure: { code: 'function' } };
    const { code, position } = error;
    return { failure: { code: error instanceof RangeError ? 'range' : code, position } };
  }
}

/** Cached: compiling takes as long as a small document. All expressions come from one mapping file. */
function compiledOf(expression) {
  const known = compiled.get(expression);
  if (known !== undefined) return known;
  const made = jsonata(expression, GUARDS);
  made.registerFunction('eval', () => {
    // a document must not be able to supply code
    throw { code: 'eval' };
  });
  compiled.set(expression, made);
  return made;
}
