import { FinishedAhead } from '#libs/delivery';
import { AT_REST, readNote, writeNote } from './commit-note.js';

const NOW_MS = 1_763_680_000_123;

describe('the note of a commit', () => {
  it('says until when all that was told is in it', () => {
    expect(readNote(7, writeNote('', NOW_MS))).toEqual({ finished: undefined, toldUntil: NOW_MS });
  });

  it('says that nothing will be told any more', () => {
    expect(readNote(7, writeNote('', AT_REST)).toldUntil).toBe(AT_REST);
  });

  it('carries what is finished ahead', () => {
    const ahead = FinishedAhead.compose([7, 9], 10).metadata;
    const { finished, toldUntil } = readNote(7, writeNote(ahead, NOW_MS));
    expect([7, 8, 9, 10, 11].filter((offset) => finished?.includes(offset))).toEqual([8, 10]);
    expect(toldUntil).toBe(NOW_MS);
  });

  it.each([null, '', 'set by hand', 'told/1', 'told/1 REST', 'told/2 rest'])(
    'says nothing when it is %j',
    (metadata) => {
      expect(readNote(7, metadata)).toEqual({ finished: undefined, toldUntil: undefined });
    },
  );
});
