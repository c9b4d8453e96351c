import { type RetryCause, type Verdict } from '#libs/delivery';
import { Forbidden } from './forbidden.js';

function tryAgain(cause: RetryCause): Verdict {
  return { kind: 'try-again', waitMs: 0, retryAfterMs: 0, why: cause, cause };
}

const forbidden = tryAgain('forbidden');

describe('a machine that is answered 403', () => {
  let flow: { progress: number };
  let command: Forbidden;

  beforeEach(() => {
    // much has gone well before the command came
    flow = { progress: 1000 };
    command = new Forbidden();
  });

  const otherGetsThrough = (): void => {
    flow.progress += 1;
  };

  it('is at fault when others get through while it is refused again and again', () => {
    for (let time = 1; time < 3; time += 1) {
      expect(command.review(forbidden, flow)).toBe(forbidden);
      otherGetsThrough();
    }
    expect(command.review(forbidden, flow)).toMatchObject({ kind: 'rejected', status: 403 });
  });

  it('is not at fault while nobody gets through: the token is', () => {
    for (let time = 0; time < 10; time += 1) {
      expect(command.review(forbidden, flow)).toBe(forbidden);
    }
  });

  it('is not at fault for what others got through before the token lost its rights', () => {
    expect(command.review(forbidden, flow)).toBe(forbidden);
    otherGetsThrough();
    for (let time = 0; time < 10; time += 1) {
      expect(command.review(forbidden, flow)).toBe(forbidden);
    }
  });

  it('is at fault as soon as others get through again', () => {
    for (let time = 0; time < 10; time += 1) command.review(forbidden, flow);
    otherGetsThrough();
    expect(command.review(forbidden, flow)).toMatchObject({ kind: 'rejected', status: 403 });
  });

  it.each([tryAgain('service'), tryAgain('token-refused')])(
    'starts over when the answer is another in between: $why',
    (away) => {
      for (const verdict of [forbidden, forbidden, away, forbidden, forbidden]) {
        otherGetsThrough();
        expect(command.review(verdict, flow)).toBe(verdict);
      }
    },
  );

  it.each<Verdict>([{ kind: 'applied' }, { kind: 'rejected', status: 422, detail: 'no' }])(
    'is left alone when it is $kind in the end',
    (verdict) => {
      command.review(forbidden, flow);
      expect(command.review(verdict, flow)).toBe(verdict);
    },
  );
});
