import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { exampleDocuments } from '../formats/documents.mjs';
import { WrongResult } from '../outcomes.mjs';

const READER = fileURLToPath(new URL('../formats/reader.mjs', import.meta.url));
/** An ERP's order or operation has a hundred fields; the shortest possible one shows the cost of reading orders. */
const LENGTHS = [
  { of: '2 kB', bytes: 2_000, partBytes: 2_000, atLeast: 5000 },
  { of: '40 kB', bytes: 40_000, partBytes: 4_000, atLeast: 300 },
  { of: '40 kB, as many as fit', bytes: 40_000, partBytes: 0 },
];
const READ_MS = 3000;

export const formats = {
  name: 'formats',
  title: 'documents of each ERP read a second, by the CPU of one core',
  async round(bench, figures) {
    const documents = await exampleDocuments();
    for (const { of, bytes, partBytes, ...target } of LENGTHS) {
      for (const { name, sourceTopic, ofLength } of documents) {
        const text = ofLength(bytes, partBytes);
        const { entries, cpuUs } = await bench.step(`${name}, ${of}`, () =>
          read({ text, sourceTopic, forMs: bench.scaled(READ_MS) }),
        );
        const what = `${of}: ${name}, ${entries === 1 ? '1 entry' : `${entries} entries`}`;
        figures.add(what, 'documents a second', 1e6 / cpuUs, target);
      }
    }
  },
};

/** Reads in a separate process, so that code compiled for one format does not influence another. */
async function read(task) {
  const reader = fork(READER);
  try {
    reader.send(task);
    const [answer] = await once(reader, 'message');
    if (answer.problem !== undefined) throw new WrongResult(`  not read: ${answer.problem}`);
    return answer;
  } finally {
    reader.disconnect();
  }
}
