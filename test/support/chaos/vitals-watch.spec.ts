import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { VitalsWatch } from './vitals-watch.js';

const BLOCKED_MS = 300;
/** A server that blocks its event loop before each answer, by a call that needs no core. */
const BLOCKING = `
  const server = require('node:http').createServer((_, response) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${BLOCKED_MS});
    response.end();
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
/** The time that the server waited for a core just before a request is subtracted, too. */
const ANSWERS = 5;

describe('VitalsWatch', () => {
  it('sees an event loop that is blocked without using a core', async () => {
    const server = spawn(process.execPath, ['-e', BLOCKING]);
    try {
      const [port] = (await once(server.stdout, 'data')) as [Buffer];
      const vitals = new VitalsWatch(server.pid!, `http://127.0.0.1:${String(port).trim()}`);
      for (let answer = 1; answer < ANSWERS; answer += 1) await vitals.read();
      const { longestMs } = await vitals.read();
      await vitals.stop();
      expect(longestMs).toBeGreaterThan(BLOCKED_MS - 50);
    } finally {
      server.kill();
    }
  });
});
