// The program of the process that evaluates expressions, one after the other; see evaluator-process.ts. Plain
// JavaScript, which node runs from here as well as from dist/.
import { Worker } from 'node:worker_threads';
import jsonata from 'jsonata';

const { deadlineMs, levels, entries, resultLength } = JSON.parse(process.argv[2]);
/** The library's own guards, which it looks at between steps: they know the character. */
const GUARDS = { timeout: deadlineMs, stack: levels, sequence: entries };

/** By their text. */
const compiled = new Map();

/** An evaluation that hangs hears of nothing, not even that the process that asked is gone. */
const WATCH = `setInterval(() => {
  if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL');
}, 1000);`;

new Worker(WATCH, { eval: true });
process.on('disconnect', () => process.exit());
// Ctrl-C at a terminal comes here as well; what is asked for is finished until the asker is gone.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
process.on('message', async (request) => process.send(await evaluate(request)));
process.send({ ready: true });

async function evaluate({ expression, input, variables }) {
  try {
    const result = await compiledOf(expression).evaluate(JSON.parse(input), variables);
    const json = JSON.stringify(result);
    return json?.length > resultLength ? { failure: { code: 'result' } } : { json };
  } catch (error) {
    // a function in a result refers to itself
    if (/^Converting circular/.test(error.message)) return { failure: { code: 'function' } };
    const { code, position } = error;
    return { failure: { code: error instanceof RangeError ? 'range' : code, position } };
  }
}

/** Compiled once: that took as long as a small document. Those of one mapping file are all that come. */
function compiledOf(expression) {
  const known = compiled.get(expression);
  if (known !== undefined) return known;
  const made = jsonata(expression, GUARDS);
  made.registerFunction('eval', () => {
    // a document must not bring code of its own
    throw { code: 'eval' };
  });
  compiled.set(expression, made);
  return made;
}
