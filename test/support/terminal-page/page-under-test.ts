import type { Browser, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import { eventually } from '../eventually.js';
import { launchChromium, openPage } from './browser.js';
import { fakePlant, NOW } from './fake-plant.js';
import { FakeTerminal } from './fake-terminal.js';

/** The terminal's page in Chromium with a fake server; each test begins with a new server and opens the page. */
export class PageUnderTest {
  terminal!: FakeTerminal;
  page!: Page;
  private browser!: Browser;
  /** The complaints of each opened page. */
  private readonly complaints: (readonly string[])[] = [];
  /** Requests without an answer. */
  private readonly unanswered = new Set<Request>();

  /** Call it inside `describe`: it registers the hooks that start and end everything. */
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

  /** Opens the page with a clock that the test may set and advance. */
  async openWithClock(hash = '#/stops'): Promise<void> {
    await this.openAt('about:blank');
    await this.page.clock.install();
    await this.page.goto(this.terminal.url + hash);
  }

  async openAt(url: string, options: BrowserContextOptions = {}): Promise<void> {
    const { page, complaints } = await openPage(this.browser, url, options);
    this.page = page;
    this.complaints.push(complaints);
    this.unanswered.clear();
    page
      .context()
      .on('request', (request) => this.unanswered.add(request))
      .on('response', (response) => this.unanswered.delete(response.request()))
      .on('requestfailed', (request) => this.unanswered.delete(request));
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

  /** Signs the station in, where a token is asked for. */
  async signIn(token = 'station-token'): Promise<void> {
    await this.page.getByLabel('Token of the station').fill(token);
    await this.page.getByRole('button', { name: 'Sign in this station' }).click();
  }

  async signOut(): Promise<void> {
    await this.page.getByRole('button', { name: 'Settings' }).click();
    await this.page.getByRole('button', { name: 'Sign out' }).click();
    await this.page.getByRole('button', { name: 'Tap again' }).click();
  }

  async registerAs(name: string, page = this.page): Promise<void> {
    await page.locator('.top .button').first().click();
    await page.getByRole('textbox').fill(name);
    await page.getByRole('button', { name: 'Register', exact: true }).click();
  }

  /** Writes a note on the view of a machine; the returned button saves it. */
  async writeNote(): Promise<Locator> {
    await this.page.getByRole('button', { name: 'Add a note' }).click();
    await this.page.getByRole('textbox').fill('Spindle is loud');
    return this.page.getByRole('button', { name: 'Save' });
  }

  /**
   * Waits until the page has its reasons, which it requests after it follows the plant; a server that went away earlier
   * would leave it without.
   */
  async untilReasonsKnown(name: string): Promise<void> {
    await this.rowOf(name).locator('button.stop-main').first().click();
    await this.page.locator('.reason-button').first().waitFor();
    await this.page.keyboard.press('Escape');
    await this.page.locator('dialog').waitFor({ state: 'detached' });
  }

  /**
   * Stops the page's clock, which then only advances on the test's request: a slow test is not too late for something
   * that lasts ten seconds.
   */
  async stopClock(): Promise<void> {
    await eventually('the clock stands', async () => {
      // refused if that second has already passed, but the clock stands still from the first try on
      await this.page.clock.pauseAt((await this.page.evaluate(() => Date.now())) + 1000);
      return true;
    });
  }

  /**
   * Lets the page's clock run in steps until a condition is true, and waits each time until requests are answered:
   * otherwise the page would give them up, by a clock that is ahead of the answer.
   */
  async runUntil(
    what: string,
    stepMs: number,
    check: () => Promise<boolean> | boolean,
  ): Promise<void> {
    await eventually(what, async () => {
      if (this.unanswered.size > 0) return false;
      await this.page.clock.runFor(stepMs);
      return check();
    });
  }

  /**
   * Sends an event, and waits until the page has applied it: by a clock that is ahead of it, the stream would be silent,
   * and the page would connect again.
   */
  async untilHeard(): Promise<void> {
    // the page notes the time
    await this.page.evaluate("localStorage.removeItem('terminal.heardUntil')");
    this.terminal.setLink('up', NOW);
    await eventually('the page has heard it', async () => {
      await this.page.clock.runFor(20);
      return this.page.evaluate("localStorage.getItem('terminal.heardUntil')");
    });
  }
}
