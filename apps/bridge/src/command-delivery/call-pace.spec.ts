import { CallPace } from './call-pace.js';

describe('CallPace', () => {
  it('calls slow what takes several times as long as the others', () => {
    const pace = new CallPace();
    for (let call = 0; call < 20; call += 1) expect(pace.judge(100)).toBe('usual');
    expect(pace.judge(390)).toBe('usual');
    expect(pace.judge(3000)).toBe('slow');
    expect(pace.judge(100)).toBe('usual');
  });

  it('calls nothing slow that is quick in itself', () => {
    const pace = new CallPace();
    pace.judge(1);
    expect(pace.judge(240)).toBe('usual');
  });

  it('comes to terms with a service that has become slow as a whole', () => {
    const pace = new CallPace();
    pace.judge(20);
    const verdicts = Array.from({ length: 60 }, () => pace.judge(1000));
    expect(verdicts[0]).toBe('slow');
    expect(verdicts.at(-1)).toBe('usual');
  });
});
