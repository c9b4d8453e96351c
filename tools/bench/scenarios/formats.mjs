import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { exampleDocuments } from '../formats/documents.mjs';
import { WrongResult } from '../verdict.mjs';

const READER = fileURLToPath(new URL('../formats/reader.mjs', import.meta.url));
const LENGTHS = [
  { of: '2 kB', bytes: 2_000, atLeast: 5000 },
  { of: '40 kB', bytes: 40_000, atLeast: 300 },
];
const READ_MS = 3000;

export const formats = {
  name: 'formats',
  title: 'documents of each ERP read a second, by the CPU of one core',
  async round(bench, figures) {
    const documents = await exampleDocuments();
    for (const { of, bytes, atLeast } of LENGTHS) {
      for (const { name, sourceTopic, ofLength } of documents) {
        const text = ofLength(bytes);
        const { orders, cpuUs } = await bench.step(`${name}, ${of}`, () =>
          read({ text, sourceTopic, forMs: bench.scaled(READ_MS) }),
        );
        const what = `${name}, ${orders === 1 ? '1 order' : `${orders} orders`}`;
        figures.add(`${of}: ${what}`, 'documents a second', 1e6 / cpuUs, { atLeast });
      }
    }
  },
};

/** In a process of its own: code that is compiled for one format is not measured with another. */
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
