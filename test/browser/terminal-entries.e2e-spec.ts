import type { Browser, Locator, Page } from 'playwright-core';
import { eventually } from '../support/eventually.js';
import { launchChromium, openPage } from '../support/terminal-page/browser.js';
import { fakePlant } from '../support/terminal-page/fake-plant.js';
import { FakeTerminal } from '../support/terminal-page/fake-terminal.js';

const NAME = 'Grinder 1';
const OTHERS = ['Laser cutter 1', 'Grinder 2'];

describe("entries of the terminal's page", () => {
  let browser: Browser;
  let terminal: FakeTerminal;
  let page: Page;
  let complaints: string[] = [];

  const rowOf = (name: string): Locator => page.locator('.stop').filter({ hasText: name });
  const status = (name: string, wanted: string): Locator =>
    rowOf(name).locator(`[data-status=${wanted}]`);

  const giveReason = async (name: string, code: string): Promise<void> => {
    await rowOf(name).locator('button.stop-main').first().click();
    await page.locator(`.reason-button[data-code="${code}"]`).first().click();
  };

  beforeAll(async () => {
    browser = await launchChromium();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    terminal = new FakeTerminal(fakePlant(12));
    await terminal.listen();
    ({ page, complaints } = await openPage(browser, 'about:blank'));
    await page.clock.install();
    await page.goto(`${terminal.url}#/stops`);
    await rowOf(NAME).first().waitFor();
  });

  afterEach(async () => {
    await page.context().close();
    await terminal.close();
    expect(complaints).toEqual([]);
  });

  /** Gives three reasons that are sent in one request, and lets their undo time pass. */
  const sendTogether = async (): Promise<void> => {
    await giveReason(NAME, '13');
    await giveReason(OTHERS[0]!, '20');
    await giveReason(OTHERS[1]!, '14');
    await page.clock.runFor(11_000);
  };

  it('are refused one by one where a request of several is too large', async () => {
    const refused: number[] = [];
    terminal.refusesRequest = (entries) => {
      if (!entries.some(({ reasonId }) => reasonId === '20')) return undefined;
      refused.push(entries.length);
      return 413;
    };
    await sendTogether();
    await status(OTHERS[0]!, 'refused').waitFor();
    await status(NAME, 'applied').waitFor();
    await status(OTHERS[1]!, 'applied').waitFor();
    expect(refused.at(-1)).toBe(1);
  });

  it('wait, and are not lost, while a proxy refuses what it is sent', async () => {
    let isRefused = true;
    terminal.refusesRequest = () => (isRefused ? 403 : undefined);
    await sendTogether();
    await page.getByText(/3 not sent since/).waitFor();
    isRefused = false;
    await eventually(
      async () => {
        await page.clock.runFor(1_000);
        return (await status(NAME, 'applied').count()) > 0;
      },
      { what: 'they are sent' },
    );
    expect(terminal.posts.flat()).toHaveLength(3);
  });

  it('have the time of the plant, though the clock of the device is set meanwhile', async () => {
    await page.locator('.clock', { hasText: '14:07' }).waitFor();
    const hourLater = (await page.evaluate(() => Date.now())) + 3600_000;
    await page.clock.setSystemTime(hourLater);
    await page.clock.runFor(2_000);
    await page.locator('.clock', { hasText: '14:07' }).waitFor();
    await eventually(() => terminal.streams === 2, { what: 'a new stream' });
    await giveReason(NAME, '13');
    await page.clock.runFor(11_000);
    await status(NAME, 'applied').waitFor();
    const { madeAt } = terminal.posts[0]![0]!;
    expect(madeAt! - terminal.plant.session.clock.epochSeconds).toBeLessThan(60);
  });
});
