import { SpanCursor } from './read-spans.js';

const span = (partition: number, from: number, until: number) => ({
  topic: 'topic',
  partition,
  from,
  until,
});

describe('SpanCursor', () => {
  it('goes through spans one after the other and is at its end behind the last one', () => {
    const cursor = new SpanCursor([span(0, 5, 7), span(1, 0, 1)]);
    expect(cursor.position).toBe(5);
    expect(cursor.pass(5)).toBe(false);
    expect(cursor.pass(6)).toBe(true);
    expect(cursor.isAt('topic', 1)).toBe(true);
    expect(cursor.position).toBe(0);
    expect(cursor.pass(0)).toBe(true);
    expect(cursor.current).toBeUndefined();
  });

  it('passes over spans that hold nothing', () => {
    const cursor = new SpanCursor([span(0, 3, 3), span(1, 2, 4), span(2, 0, 0)]);
    expect(cursor.isAt('topic', 1)).toBe(true);
    expect(cursor.pass(3)).toBe(true);
    expect(cursor.current).toBeUndefined();
    expect(new SpanCursor([]).current).toBeUndefined();
  });

  it('wants what lies between its position and the end of the span, and nothing twice', () => {
    const cursor = new SpanCursor([span(0, 5, 8)]);
    cursor.pass(5);
    expect([4, 5, 6, 7, 8].filter((offset) => cursor.wants(offset))).toEqual([6, 7]);
  });

  it('is never put back by what is delivered again', () => {
    const cursor = new SpanCursor([span(0, 0, 10)]);
    cursor.pass(6);
    expect(cursor.pass(2)).toBe(false);
    expect(cursor.position).toBe(7);
  });

  it('ends with an offset behind the last one, where the log goes on', () => {
    const cursor = new SpanCursor([span(0, 0, 10)]);
    expect(cursor.pass(40)).toBe(true);
    expect(cursor.current).toBeUndefined();
  });
});
