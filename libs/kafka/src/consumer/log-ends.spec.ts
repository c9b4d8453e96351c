import { captureLogs } from '../../../logging/test/captured-logs.js';
import { LogEnds } from './log-ends.js';

describe('messages that are deleted before this process reads them', () => {
  const open = () => {
    const [logs, lost] = [captureLogs(), new Map<string, number>()];
    const ends = new LogEnds('a', 3, lost);
    const fetched = (fetchedEnd: number, start: number, holdsSession = true): void => {
      const end = { highWatermark: '40', lastStableOffset: '40' };
      const fetch = { partition: 3, ...end, lastStartOffset: String(start) };
      ends.endsFetched(fetch, fetchedEnd, holdsSession);
    };
    return { fetched, lines: logs.lines, lost };
  };

  it('are not lost while another process may have read them, as after a suspension', () => {
    const { fetched, lines, lost } = open();
    fetched(7, 12, false);
    fetched(13, 12, false);
    expect(lines()).toEqual([]);
    expect(lost).toEqual(new Map());
  });

  it('are lost once it is known that no other process has owned the partition', () => {
    const { fetched, lines, lost } = open();
    fetched(7, 12, false);
    fetched(13, 15, false);
    fetched(15, 12, false);
    fetched(15, 20);
    fetched(15, 20);
    fetched(20, 20);
    expect(lines()).toMatchObject([
      { topic: 'a', partition: 3, offset: 7, until: 12 },
      { topic: 'a', partition: 3, offset: 13, until: 15 },
      { topic: 'a', partition: 3, offset: 15, until: 20 },
    ]);
    expect(lost).toEqual(new Map([['a', 12]]));
  });
});
