import { DoneItems, FinishedAhead } from '#libs/delivery';
import { parseOffsetMetadata, formatOffsetMetadata } from './committed-offsets.js';

const AHEAD = FinishedAhead.compose([7, 9], 10).metadata;

function finishedOf({ finished }: ReturnType<typeof parseOffsetMetadata>): number[] {
  return [7, 8, 9, 10, 11].filter((offset) => finished?.includes(offset) === true);
}

describe('the note of a commit', () => {
  it('carries what is finished ahead, what is done in part, and by which transaction', () => {
    const items = new DoneItems();
    items.add(7, 2);
    const note = parseOffsetMetadata(7, formatOffsetMetadata('w.3', items.compose() ?? '', AHEAD));
    expect(finishedOf(note)).toEqual([8, 10]);
    expect([note.items.has(7, 2), note.items.has(7, 1)]).toEqual([true, false]);
    expect(note.transaction).toBe('w.3');
  });

  it('may say nothing but its transaction', () => {
    const note = parseOffsetMetadata(7, formatOffsetMetadata('w.3', '', ''));
    expect([finishedOf(note), note.items.isEmpty, note.transaction]).toEqual([[], true, 'w.3']);
  });

  it('is read as earlier versions have written it', () => {
    expect(finishedOf(parseOffsetMetadata(7, `told/1 rest ${AHEAD}`))).toEqual([8, 10]);
  });

  it.each([null, '', 'set by hand', 'tx/1', 'tx/2 w.3 -'])(
    'says nothing when it is %j',
    (metadata) => {
      const { finished, items, transaction } = parseOffsetMetadata(7, metadata);
      expect([finished, items.isEmpty, transaction]).toEqual([undefined, true, undefined]);
    },
  );
});
