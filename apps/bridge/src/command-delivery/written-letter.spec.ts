import { type DeadLetter, deadLetterHeaders } from '#libs/contracts';
import { writtenLetterOf } from './written-letter.js';

const LETTER: DeadLetter = {
  ...{ code: 'unknown-machine', detail: 'none', sourceTopic: 'p.lists', partition: 2 },
  ...{ offset: '7', timestamp: '0', failedAt: 0, attempts: 0 },
};
const source = { topic: 'p.lists', partition: 2, offset: 7 };

const result = {
  ...{ kind: 'rejected', attempts: 0 },
  rejection: { code: 'unknown-machine', detail: 'none' },
};

describe('a record of a dead-letter topic', () => {
  it('tells which message it sets aside, and for which machines', () => {
    const headers = deadLetterHeaders({ ...LETTER, machineIds: ['M,1', 'M-2'] });
    const letter = { topic: 'p.lists.dlq', headers: Object.entries(headers) };
    expect(writtenLetterOf(letter)).toEqual({ source, machineIds: ['M,1', 'M-2'], result });
  });

  it('tells how often the service was asked, and what it answered', () => {
    const headers = deadLetterHeaders({ ...LETTER, attempts: 2, httpStatus: 422 });
    const letter = { topic: 'p.lists.dlq', headers: Object.entries(headers) };
    expect(writtenLetterOf(letter)?.result).toEqual({ ...result, attempts: 2, httpStatus: 422 });
  });

  it('may name no machine', () => {
    const letter = { topic: 'p.lists.dlq', headers: Object.entries(deadLetterHeaders(LETTER)) };
    expect(writtenLetterOf(letter)).toEqual({ source, machineIds: undefined, result });
  });

  it.each([
    ['has been copied from another topic', 'lists.dlq', deadLetterHeaders(LETTER)],
    ['is none of the bridge', 'p.lists.dlq', { note: 'by hand' }],
    ['lies in no dead-letter topic', 'p.lists', deadLetterHeaders(LETTER)],
    ['names no offset', 'p.lists.dlq', { ...deadLetterHeaders(LETTER), 'dlq-source-offset': '-' }],
  ])('tells nothing when it %s', (_, topic, headers) => {
    expect(writtenLetterOf({ topic, headers: Object.entries(headers) })).toBeUndefined();
  });
});
