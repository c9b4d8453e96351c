import fc from 'fast-check';
import { createEventParser } from './event-stream.js';

const STREAM =
  ': heartbeat\n\nid: a-1\nevent: tiles\ndata: {"tiles":\ndata: []}\n\nid: a-2\r\nevent:link\r\ndata: x\r\n\r\ndata: y\n\n';
const EVENTS = [
  { id: 'a-1', event: 'tiles', data: '{"tiles":\n[]}' },
  { id: 'a-2', event: 'link', data: 'x' },
  { id: 'a-2', event: 'message', data: 'y' },
];

describe('an event stream', () => {
  it('is read however it is cut into chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: STREAM.length })), (cuts) => {
        const parse = createEventParser();
        const at = [0, ...cuts.sort((a, b) => a - b), STREAM.length];
        const chunks = at.slice(1).map((end, index) => STREAM.slice(at[index], end));
        expect(chunks.flatMap((chunk) => parse(chunk))).toEqual(EVENTS);
      }),
    );
  });
});
