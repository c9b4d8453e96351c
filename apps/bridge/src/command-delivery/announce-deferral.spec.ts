import { announceDeferral } from './announce-deferral.js';

const AN_HOUR_MS = 3_600_000;

/** Something to wait for and the way to bring it about. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('announceDeferral', () => {
  it('says nothing of work that is done in time, and keeps nobody waiting', async () => {
    const announce = (): Promise<never> => Promise.reject(new Error('nothing to announce'));
    const work = (): Promise<string> => Promise.resolve('done');
    await expect(announceDeferral(AN_HOUR_MS, announce, work)).resolves.toBe('done');
  });

  it('announces once what takes longer', async () => {
    const announced = gate();
    let announcements = 0;
    const announce = (): Promise<void> => {
      announcements += 1;
      announced.open();
      return Promise.resolve();
    };
    const work = (): Promise<string> => announced.opened.then(() => 'done late');
    await expect(announceDeferral(1, announce, work)).resolves.toBe('done late');
    expect(announcements).toBe(1);
  });

  it('lets an announcement under way come before the final outcome', async () => {
    const started = gate();
    const sending = gate();
    const log: string[] = [];
    const announce = async (): Promise<void> => {
      started.open();
      await sending.opened;
      log.push('announced');
    };
    const outcome = announceDeferral(1, announce, () => started.opened).then(() => {
      log.push('final');
    });
    await started.opened;
    await new Promise((resolve) => setImmediate(resolve));
    sending.open();
    await outcome;
    expect(log).toEqual(['announced', 'final']);
  });

  it('passes on the failure of the work', async () => {
    const work = (): Promise<never> => Promise.reject(new Error('aborted'));
    await expect(announceDeferral(AN_HOUR_MS, () => Promise.resolve(), work)).rejects.toThrow(
      'aborted',
    );
  });

  it('goes on without an announcement that fails, which nobody else has to catch', async () => {
    const failed = gate();
    const announce = (): Promise<void> => {
      failed.open();
      return Promise.reject(new Error('the outbox is closed'));
    };
    const work = async (): Promise<string> => {
      await failed.opened;
      // an unhandled rejection is reported, and fails this test, after the turn it comes about in
      await new Promise((resolve) => setImmediate(resolve));
      return 'done';
    };
    await expect(announceDeferral(1, announce, work)).resolves.toBe('done');
  });
});
