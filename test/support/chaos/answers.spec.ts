import { TopicReader } from '../topic-reader.js';
import { Answers } from './answers.js';

const APPLIED = 'work-order-list.applied.v1';
const SUPERSEDED = 'work-order-list.superseded.v1';
const DEFERRED = 'work-order-list.deferred.v1';

describe('the answers to messages', () => {
  let outcomes: TopicReader;
  let answers: Answers;

  beforeEach(() => {
    outcomes = new TopicReader();
    answers = new Answers(outcomes);
  });

  const say = (type: string, messageId: string | null, machineId = 'A', orderId?: string): void => {
    const value = Buffer.from(JSON.stringify({ machineId, orderId, source: { messageId } }));
    const place = { topic: 'outcomes', partition: 0, offset: 0, key: null };
    outcomes.addRecord({ ...place, value, headers: { ce_type: Buffer.from(type) } });
  };

  it('are missing for messages without a final outcome', () => {
    say(APPLIED, 'm-1');
    say(DEFERRED, 'm-2');
    say(APPLIED, null);
    expect(answers.unanswered(['m-1', 'm-2', 'm-3'])).toEqual(['m-2', 'm-3']);
    expect(answers.deferralsOf('m-2')).toBe(1);
    say(APPLIED, 'm-2');
    expect(answers.unanswered(['m-1', 'm-2'])).toEqual([]);
  });

  it('contradict each other when one message and machine has two different outcomes', () => {
    say(APPLIED, 'm-1');
    say(APPLIED, 'm-1');
    say(SUPERSEDED, 'm-1', 'B');
    expect(answers.contradictions()).toEqual([]);
    say(SUPERSEDED, 'm-1');
    expect(answers.contradictions()).toContain(`m-1: ${SUPERSEDED}`);
  });

  it('may differ for two orders of one message and machine', () => {
    say(APPLIED, 'm-1', 'A', 'order-1');
    say(SUPERSEDED, 'm-1', 'A', 'order-2');
    expect(answers.contradictions()).toEqual([]);
    expect(answers.repetitions()).toEqual([]);
  });

  it('are repeated when one machine has the same outcome twice, not when two machines have it', () => {
    say(APPLIED, 'm-1', 'A');
    say(APPLIED, 'm-1', 'B');
    expect(answers.repetitions()).toEqual([]);
    say(APPLIED, 'm-1', 'B');
    expect(answers.repetitions()).toEqual(['m-1: 3 final outcomes']);
  });
});
