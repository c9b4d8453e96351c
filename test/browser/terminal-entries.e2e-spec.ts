import { eventually } from '../support/eventually.js';
import type { ReasonLists } from '../../apps/terminal/src/index.js';
import { APPLIED } from '../support/terminal-page/fake-terminal.js';
import { PageUnderTest } from '../support/terminal-page/page-under-test.js';

const NAME = 'Grinder 1';
const OTHERS = ['Laser cutter 1', 'Grinder 2'];

function withoutMachine({ lists, machines }: ReasonLists, machineId: string): ReasonLists {
  const left = Object.entries(machines).filter(([id]) => id !== machineId);
  return { lists, machines: Object.fromEntries(left) };
}

describe("entries of the terminal's page", () => {
  const shown = new PageUnderTest();

  beforeEach(async () => {
    await shown.openWithClock();
    await shown.rowOf(NAME).first().waitFor();
  });

  /** Lets no entry be stored until {@link makeRoom}. */
  const fillDisk = (): Promise<void> =>
    shown.page.evaluate(() => {
      const stores = IDBObjectStore.prototype as {
        put: (this: IDBObjectStore, ...what: unknown[]) => unknown;
      };
      const { put } = stores;
      stores.put = function (...what) {
        if (document.title === 'There is room again') return put.apply(this, what);
        // a read that begins meanwhile must not lose unstored entries
        new BroadcastChannel('machine-terminal-outbox').postMessage('changed');
        this.transaction.abort();
        return undefined;
      };
    });

  const makeRoom = (): Promise<string> =>
    shown.page.evaluate(() => (document.title = 'There is room again'));

  /** Gives three reasons that are sent in one request, and lets their undo time pass. */
  const sendTogether = async (): Promise<void> => {
    await shown.giveReason(NAME, '13');
    await shown.giveReason(OTHERS[0]!, '20');
    await shown.giveReason(OTHERS[1]!, '14');
    await shown.page.clock.runFor(11_000);
  };

  /** Runs the clock while the page hears every few seconds that Kafka answers; returns its seconds. */
  const secondsUntil = async (
    what: string,
    isSo: () => Promise<boolean> | boolean,
  ): Promise<number> => {
    const nowMs = (): Promise<number> => shown.page.evaluate(() => Date.now());
    const startMs = await nowMs();
    await shown.runUntil(what, 5_000, async () => {
      await shown.untilHeard();
      return isSo();
    });
    return ((await nowMs()) - startMs) / 1000;
  };

  it('are made once by a double tap, and each part of a split stop by a double tap of its own', async () => {
    const { page, terminal } = shown;
    await shown.rowOf(NAME).locator('button.stop-main').first().click();
    await page.locator('.reason-button[data-code="13"]').first().dblclick();
    await shown.status(NAME, 'undo').waitFor();
    // after the sheet is closed, the second tap may open the one of the stop below
    await page.keyboard.press('Escape');
    await shown.rowOf(OTHERS[0]!).locator('button.stop-main').first().click();
    await page.getByRole('button', { name: 'Split' }).click();
    await page.locator('.reason-button[data-code="20"]').first().dblclick();
    await page.locator('.reason-button[data-code="14"]').first().dblclick();
    await shown.status(OTHERS[0]!, 'undo').first().waitFor();
    const given = (): string[] => terminal.posts.flat().map(({ reasonId }) => reasonId);
    await shown.runUntil(
      'they are sent',
      1_000,
      () => given().includes('13') && given().includes('14'),
    );
    expect(given().sort()).toEqual(['13', '14', '20']);
  });

  it('are neither made by a double tap on a stop, nor confirmed by one, where the browser counts no taps', async () => {
    const { page } = shown;
    await shown.untilReasonsKnown(NAME);
    /** As in Safari on a tablet: the second tap hits the element that the first one has brought there. */
    const doubleTap = (x: number, y: number): Promise<void> =>
      page.evaluate(
        async ([clientX, clientY]) => {
          const at = { bubbles: true, clientX, clientY };
          for (let count = 0; count < 2; count++) {
            const target = document.elementFromPoint(clientX, clientY)!;
            target.dispatchEvent(new PointerEvent('pointerdown', { ...at, pointerType: 'touch' }));
            target.dispatchEvent(new MouseEvent('click', { ...at, detail: 1 }));
            for (let turn = 0; turn < 10; turn++) await Promise.resolve();
          }
        },
        [x, y] as const,
      );
    const reason = page.locator('.reason-button');
    const given = (): Promise<number> => page.locator('[data-status]').count();
    await shown.rowOf(NAME).locator('button.stop-main').first().click();
    await reason.first().waitFor();
    const reasons = await Promise.all((await reason.all()).map((it) => it.boundingBox()));
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    const stops = await page.locator('button.stop-main').all();
    const rows = await Promise.all(stops.map((it) => it.boundingBox()));
    // a place where a reason covers the button of a stop
    const place = reasons.find((it) =>
      rows.some((row) => it!.y > row!.y && it!.y + 40 < row!.y + row!.height),
    )!;
    await doubleTap(place.x + 20, place.y + 20);
    await page.clock.runFor(1_000);
    expect(await given()).toBe(0);
    await reason.first().waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${shown.terminal.url}#/machine/M-001`);
    await page.locator('.bar[data-state=OPERATING]').last().click();
    const other = (await reason.first().boundingBox())!;
    await doubleTap(other.x + 20, other.y + 20);
    await page.clock.runFor(1_000);
    expect(await given()).toBe(0);
    // a separate tap does
    await page.locator('.reason-button.armed').first().click();
    await page.locator('[data-status=undo]').first().waitFor();
  });

  it('are made once by a double tap if they are notes', async () => {
    const { page, terminal } = shown;
    await page.goto(`${terminal.url}#/machine/M-001`);
    await (await shown.writeNote()).dblclick();
    // notes written together are sent together, or in the next round
    await shown.runUntil('it is saved', 1_000, async () => {
      const waiting = await page.locator('.note-list [data-status]').count();
      return waiting === 0 && terminal.notes.length > 0;
    });
    expect(terminal.notes).toHaveLength(1);
  });

  it('are refused one by one when a request of several is too large', async () => {
    const refused: number[] = [];
    shown.terminal.refusesRequest = (entries) => {
      if (!entries.some(({ reasonId }) => reasonId === '20')) return undefined;
      refused.push(entries.length);
      return 413;
    };
    await sendTogether();
    await shown.status(OTHERS[0]!, 'refused').waitFor();
    await shown.status(NAME, 'applied').waitFor();
    await shown.status(OTHERS[1]!, 'applied').waitFor();
    expect(refused.at(-1)).toBe(1);
  });

  /** Sends a reason, and closes the page before its outcome. */
  const leaveUnanswered = async (): Promise<string> => {
    const { page, terminal } = shown;
    terminal.verdict = undefined;
    await shown.giveReason(NAME, '13');
    await page.clock.runFor(11_000);
    await shown.status(NAME, 'sent').waitFor();
    await page.goto('about:blank');
    return terminal.posts[0]![0]!.entryId;
  };

  it('show their outcome and their names, though their machine was removed before the page came back', async () => {
    const { page, terminal } = shown;
    const entryId = await leaveUnanswered();
    terminal.answer(entryId, APPLIED);
    const { machineId } = terminal.posts[0]![0]!;
    terminal.plant.tiles = terminal.plant.tiles.filter((tile) => tile.machineId !== machineId);
    terminal.plant.reasons = withoutMachine(terminal.plant.reasons, machineId);
    await page.goto(terminal.url);
    await shown.status(NAME, 'applied').waitFor();
    await shown.rowOf(NAME).getByText('Set-up').waitFor();
  });

  it('do not remain sent when the server has forgotten them, and can be dismissed', async () => {
    const { page, terminal } = shown;
    terminal.forget(await leaveUnanswered());
    await page.goto(terminal.url);
    await shown.status(NAME, 'sent').waitFor();
    const { session } = terminal.plant;
    session.shifts = session.shifts.map(({ startTime, endTime }) => ({
      ...{ startTime: startTime + 86_400, endTime: endTime + 86_400 },
    }));
    terminal.sendSession();
    await page.clock.runFor(21_000);
    await shown.status(NAME, 'unanswered').waitFor();
    await shown.rowOf(NAME).getByText('no longer known').waitFor();
    await shown.rowOf(NAME).getByRole('button', { name: 'Dismiss' }).click();
    await shown.status(NAME, 'unanswered').waitFor({ state: 'detached' });
  });

  it.each<[string, number | 'foreign-origin']>([
    ['a proxy refuses the requests', 403],
    ['the server takes the page for one of another site', 'foreign-origin'],
  ])('wait, and are not lost, while %s', async (_, refusal) => {
    let refusals = 0;
    let isRefused = true;
    shown.terminal.refusesRequest = () => {
      if (!isRefused) return undefined;
      refusals += 1;
      return refusal;
    };
    await sendTogether();
    // more requests than halving the batch would take
    await shown.runUntil('they are sent again and again', 5_000, () => refusals > 5);
    await shown.page.getByText(/3 not sent since/).waitFor();
    isRefused = false;
    await shown.runUntil(
      'they are sent',
      1_000,
      async () => (await shown.status(NAME, 'applied').count()) > 0,
    );
    expect(shown.terminal.posts.flat()).toHaveLength(3);
  });

  it('wait for as long as they are told to, though the stream reports that Kafka answers', async () => {
    await shown.untilReasonsKnown(NAME);
    let requests = 0;
    shown.terminal.fails = (path, method) =>
      path === '/api/reasons' && method === 'POST' && ++requests > 0;
    await shown.stopClock();
    await shown.giveReason(NAME, '13');
    await secondsUntil('it is refused', () => requests > 0);
    // an hour is requested, a minute is the most it waits
    expect(await secondsUntil('it is sent again', () => requests > 1)).toBeGreaterThan(50);
  });

  it('do not wait behind notes that are not accepted', async () => {
    const { page, terminal } = shown;
    await shown.untilReasonsKnown(NAME);
    let requests = 0;
    terminal.fails = (path) => path === '/api/notes' && ++requests > 0;
    await shown.stopClock();
    await page.goto(`${terminal.url}#/machine/M-001`);
    await (await shown.writeNote()).click();
    await secondsUntil('the note is refused', () => requests > 0);
    await page.goto(`${terminal.url}#/stops`);
    await shown.giveReason(OTHERS[0]!, '20');
    const seconds = await secondsUntil('the reason is sent', () => terminal.posts.length === 1);
    // the note waits for a minute
    expect(seconds).toBeLessThan(50);
  });

  it('have the time of the plant, though the clock of the device is set meanwhile', async () => {
    await shown.page.locator('.clock', { hasText: /14:0\d/ }).waitFor();
    const hourLater = (await shown.page.evaluate(() => Date.now())) + 3600_000;
    await shown.page.clock.setSystemTime(hourLater);
    await shown.page.clock.runFor(2_000);
    await shown.page.locator('.clock', { hasText: /14:0\d/ }).waitFor();
    await eventually('a new stream', () => shown.terminal.streams > 1);
    await shown.giveReason(NAME, '13');
    await shown.page.clock.runFor(11_000);
    await shown.status(NAME, 'applied').waitFor();
    const { madeAt } = shown.terminal.posts[0]![0]!;
    expect(madeAt! - shown.terminal.plant.session.clock.epochSeconds).toBeLessThan(60);
  });

  it('have the time of the plant, though the clock of the device is set back without a connection', async () => {
    const { page, terminal } = shown;
    await shown.untilReasonsKnown(NAME);
    // cached once the service worker controls the page
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await terminal.close();
    await page.locator('[data-connection=bad]').waitFor();
    await page.clock.setSystemTime((await page.evaluate(() => Date.now())) - 3600_000);
    await page.clock.runFor(2_000);
    await shown.giveReason(NAME, '13');
    await page.clock.runFor(11_000);
    for (const load of [() => Promise.resolve(), () => page.reload()]) {
      await load();
      await page.locator('.clock', { hasText: /14:[01]\d/ }).waitFor();
      await page.getByText(/1 not sent since 14:[01]\d/).waitFor();
    }
    await page.getByText(/^The server cannot be reached. It was last heard at 14:[01]\d/).waitFor();
    await terminal.listen();
    await shown.runUntil('it is sent', 1_000, () => terminal.posts.length > 0);
    const { madeAt } = terminal.posts[0]![0]!;
    expect(madeAt! - terminal.plant.session.clock.epochSeconds).toBeGreaterThanOrEqual(0);
  });

  it('have the time of the plant again when a clock is corrected that was set ahead without a connection', async () => {
    const { page, terminal } = shown;
    await terminal.close();
    await page.locator('[data-connection=bad]').waitFor();
    for (const [byMs, shownTime] of [
      [3600_000, /15:[01]\d/],
      [-3600_000, /14:[01]\d/],
    ] as const) {
      await page.clock.setSystemTime((await page.evaluate(() => Date.now())) + byMs);
      await page.clock.runFor(2_000);
      await page.locator('.clock', { hasText: shownTime }).waitFor();
    }
    await terminal.listen();
  });

  it('can be made soon, though loading the reasons failed at first', async () => {
    const { page, terminal } = shown;
    terminal.fails = (path) => path === '/api/reasons';
    await page.goto('about:blank');
    await page.goto(`${terminal.url}#/stops`);
    await shown.rowOf(NAME).locator('button.stop-main').first().click();
    await page.getByText('The reasons have not been received yet.').waitFor();
    terminal.fails = () => false;
    const { streams } = terminal;
    await shown.stopClock();
    const isThere = (): Promise<boolean> => page.locator('.reason-button').first().isVisible();
    // sooner than lists are loaded anyway
    expect(await secondsUntil('they are there', isThere)).toBeLessThan(60);
    expect(terminal.streams).toBe(streams);
  });

  it('are stored again once the disk has room, except those taken back', async () => {
    const { page, terminal } = shown;
    terminal.setLink('down');
    await shown.untilReasonsKnown(NAME);
    await shown.stopClock();
    await shown.giveReason(NAME, '13');
    await shown.status(NAME, 'undo').waitFor();
    await fillDisk();
    await shown.giveReason(OTHERS[0]!, '20');
    await page.getByText('Entries are not kept').waitFor();
    await shown.rowOf(NAME).getByRole('button', { name: 'Undo' }).click();
    await makeRoom();
    await page.clock.resume();
    await page.clock.runFor(21_000);
    await page.getByText('Entries are not kept').waitFor({ state: 'detached' });
    await page.reload();
    await shown.status(OTHERS[0]!, 'queued').waitFor();
    expect(await page.locator('.stop [data-status]').count()).toBe(1);
  });

  it('do not return after being taken back, if they were stored while another one failed', async () => {
    const { page, terminal } = shown;
    terminal.setLink('down');
    await shown.untilReasonsKnown(NAME);
    await shown.stopClock();
    await page.evaluate(() => {
      const stores = IDBObjectStore.prototype as {
        put: (this: IDBObjectStore, ...what: unknown[]) => unknown;
      };
      const { put } = stores;
      stores.put = function () {
        stores.put = put;
        const wait = (): void => {
          if (document.title === 'The disk is full') this.transaction.abort();
          else this.count().onsuccess = wait;
        };
        wait();
        return undefined;
      };
    });
    await shown.giveReason(OTHERS[0]!, '20');
    await page.keyboard.press('Escape');
    // waits for the one before
    await shown.giveReason(NAME, '13');
    await page.evaluate(() => {
      document.title = 'The disk is full';
    });
    await page.getByText('Entries are not kept').waitFor();
    await shown.rowOf(NAME).getByRole('button', { name: 'Undo' }).click();
    await page.clock.resume();
    await page.clock.runFor(21_000);
    await page.getByText('Entries are not kept').waitFor({ state: 'detached' });
    await shown.status(OTHERS[0]!, 'queued').waitFor();
    expect(await page.locator('.stop [data-status]').count()).toBe(1);
  });

  it('are as another tab has left them, after one has lost the database for a while', async () => {
    const { page, terminal } = shown;
    const second = await page.context().newPage();
    await second.goto(terminal.url);
    terminal.refusals.set('13', 'over-operating');
    await shown.giveReason(NAME, '13');
    await page.clock.runFor(11_000);
    await shown.status(NAME, 'unconfirmed').waitFor();
    // without a connection, it learns the outcome from the database alone
    await page.route('**/api/**', (route) => route.abort());
    terminal.breakStreams();
    await fillDisk();
    await shown.giveReason(OTHERS[0]!, '20');
    await page.getByText('Entries are not kept').waitFor();
    const row = second.locator('.stop', { hasText: NAME });
    await row.getByRole('button', { name: 'Send all the same' }).click();
    await row.locator('[data-status=applied]').waitFor();
    await makeRoom();
    await page.clock.runFor(21_000);
    await page.getByText('Entries are not kept').waitFor({ state: 'detached' });
    await shown.status(NAME, 'applied').waitFor();
  });
});
