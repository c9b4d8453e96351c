import { JointReceipt } from './joint-receipt.js';

describe('JointReceipt', () => {
  let log: unknown[];
  let joint: JointReceipt;

  beforeEach(() => {
    log = [];
    joint = new JointReceipt(3, {
      acknowledged: () => log.push('acknowledged'),
      refused: (error) => log.push(error),
    });
  });

  it('is acknowledged once, when all is', () => {
    joint.acknowledged();
    joint.acknowledged();
    expect(log).toEqual([]);
    joint.acknowledged();
    expect(log).toEqual(['acknowledged']);
  });

  it('is refused once, with the first that is, whatever becomes of the others', () => {
    joint.acknowledged();
    const tooLarge = new Error('too large');
    joint.refused(tooLarge);
    expect(log).toEqual([tooLarge]);
    joint.refused(new Error('closed'));
    joint.acknowledged();
    expect(log).toEqual([tooLarge]);
  });
});
