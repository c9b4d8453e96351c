import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { launchChromium, openPage } from './browser.js';
import { fakePlant } from './fake-plant.js';
import { FakeTerminal } from './fake-terminal.js';

/** The terminal's page in Chromium beside a fake server; each test begins with a new server, and opens the page. */
export class PageUnderTest {
  terminal!: FakeTerminal;
  page!: Page;
  private browser!: Browser;
  private complaints: readonly string[] = [];

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
      expect(this.complaints).toEqual([]);
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
    this.complaints = complaints;
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
}
