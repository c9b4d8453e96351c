import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { eventually } from '../eventually.js';
import { launchChromium, openPage } from './browser.js';
import { fakePlant } from './fake-plant.js';
import { FakeTerminal } from './fake-terminal.js';

/** The terminal's page in Chromium beside a fake server; each test begins with a new server, and opens the page. */
export class PageUnderTest {
  terminal!: FakeTerminal;
  page!: Page;
  private browser!: Browser;
  /** Of each page that was opened. */
  private readonly complaints: (readonly string[])[] = [];

  /** To be called where tests are described: it starts and ends everything around them. */
  constructor() {
    beforeAll(async () => {
      this.browser = await launchChromium();
    });
    afterAll(() => this.browser.close());
    beforeEach(async () => {
      this.terminal = new FakeTerminal(fakePlant(12));
      await this.terminal.listen();
    });
    afterEach(async () => {
      await this.page.context().close();
      await this.terminal.close();
      expect(this.complaints.splice(0).flat()).toEqual([]);
    });
  }

  open(hash = '#/stops', options: BrowserContextOptions = {}): Promise<void> {
    return this.openAt(this.terminal.url + hash, options);
  }

  /** With a clock that the test may set and have run on. */
  async openWithClock(hash = '#/stops'): Promise<void> {
    await this.openAt('about:blank');
    await this.page.clock.install();
    await this.page.goto(this.terminal.url + hash);
  }

  async openAt(url: string, options: BrowserContextOptions = {}): Promise<void> {
    const { page, complaints } = await openPage(this.browser, url, options);
    this.page = page;
    this.complaints.push(complaints);
  }

  rowOf(name: string): Locator {
    return this.page.locator('.stop').filter({ hasText: name });
  }

  status(name: string, wanted: string): Locator {
    return this.rowOf(name).locator(`[data-status=${wanted}]`);
  }

  async giveReason(name: string, code: string): Promise<void> {
    await this.rowOf(name).locator('button.stop-main').first().click();
    await this.page.locator(`.reason-button[data-code="${code}"]`).first().click();
  }

  /** The page asks for them once it follows the plant: a server that is away by then leaves it without. */
  async untilReasonsKnown(name: string): Promise<void> {
    await this.rowOf(name).locator('button.stop-main').first().click();
    await this.page.locator('.reason-button').first().waitFor();
    await this.page.keyboard.press('Escape');
    await this.page.locator('dialog').waitFor({ state: 'detached' });
  }

  /** Has the page's clock stand, but for what a test lets it run: nobody is late for what lasts for ten seconds. */
  async stopClock(): Promise<void> {
    await eventually('the clock stands', async () => {
      // refused where that second is over by then, but the clock stands from the first try on
      await this.page.clock.pauseAt((await this.page.evaluate(() => Date.now())) + 1000);
      return true;
    });
  }

  /**
   * Lets the page's clock run in steps until something has come true, and each time what is being sent be answered:
   * the page would give it up by a clock that is ahead of the answer.
   */
  async runUntil(
    what: string,
    stepMs: number,
    check: () => Promise<boolean> | boolean,
  ): Promise<void> {
    await eventually(what, async () => {
      if ((await this.page.locator('[data-status=sending]').count()) > 0) return false;
      await this.page.clock.runFor(stepMs);
      return check();
    });
  }
}
