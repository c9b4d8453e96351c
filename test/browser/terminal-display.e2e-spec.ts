import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import {
  launchChromium,
  openPage,
  PHONE,
  screenshot,
  TABLET,
} from '../support/terminal-page/browser.js';
import { fakePlant } from '../support/terminal-page/fake-plant.js';
import { FakeTerminal } from '../support/terminal-page/fake-terminal.js';

const STANDING = 'M-003';
const LONG =
  'Bearbeitungszentrum Donaudampfschifffahrtsgesellschaft, Halle 3 Nord, mit Palettenwechsler';
const ARABIC = 'توقف بسبب عطل';

describe("what the terminal's page shows", () => {
  let browser: Browser;
  let terminal: FakeTerminal;
  let page: Page;
  let complaints: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
  });

  afterAll(() => browser.close());

  beforeEach(async () => {
    terminal = new FakeTerminal(fakePlant(12));
    await terminal.listen();
  });

  afterEach(async () => {
    await page.context().close();
    await terminal.close();
    expect(complaints).toEqual([]);
  });

  const open = async (hash = '#/stops', options: BrowserContextOptions = {}): Promise<void> => {
    ({ page, complaints } = await openPage(browser, terminal.url + hash, options));
  };

  const buttons = (): Locator => page.locator('.stop button.stop-main');

  it.each([
    ['phone', PHONE],
    ['tablet', TABLET],
  ])('is all on the screen of a %s, however long names are', async (size, viewport) => {
    terminal.tileOf(STANDING).displayName = LONG;
    await open('#/stops', { viewport });
    for (const hash of ['#/stops', `#/machine/${STANDING}`, '#/hand-over']) {
      await page.goto(terminal.url + hash);
      await page.getByText(LONG).first().waitFor();
      await screenshot(page, `${size}-long-${hash.split('/')[1]!}`);
      const [content, screen] = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return [scrollWidth, clientWidth];
      });
      expect([hash, content]).toEqual([hash, screen]);
    }
  });

  it('has times as they are beside names that are written from right to left', async () => {
    const [list] = terminal.plant.reasons.lists;
    list!.find(({ code }) => code === '31')!.name = ARABIC;
    await open(`#/machine/${STANDING}`);
    await buttons().last().click();
    await page.locator('.reason-button[data-code="31"]').first().click();
    const period = page.locator('.given-list .given-when').first();
    await page.locator('.given-list', { hasText: ARABIC }).waitFor();
    // where the first and the last character of "13:11–13:36" are
    const [start, end] = await period.evaluate((element) => {
      const text = [...element.childNodes].find((node) => /\d/.test(node.textContent ?? ''))!;
      const length = text.textContent!.length;
      return [0, length - 1].map((at) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().left;
      });
    });
    expect(start).toBeLessThan(end!);
  });

  it('is a sheet full of reasons where there are 500 without groups, found by a few letters', async () => {
    terminal.plant.session.reasonLooks = {};
    terminal.plant.reasons.lists[0] = Array.from({ length: 500 }, (_, index) => ({
      ...{ code: String(1000 + index), name: `Reason ${index}` },
    }));
    await open();
    await buttons().first().click();
    const choices = page.locator('.reason-groups .reason-button');
    await choices.last().waitFor({ state: 'attached' });
    const [first, third] = await Promise.all(
      [choices.nth(0), choices.nth(2)].map((it) => it.boundingBox()),
    );
    expect(third!.y).toBe(first!.y);
    await page.getByRole('searchbox').fill('son 499');
    await choices.filter({ hasText: 'Reason 499' }).waitFor();
    expect(await choices.count()).toBe(1);
  });

  it('is no sheet any more once its view was left by the back button', async () => {
    await open('#/wall');
    await page.getByRole('link', { name: 'Needs a reason' }).click();
    await buttons().first().click();
    await page.locator('dialog[open]').waitFor();
    await page.goBack();
    await page.locator('.tiles').waitFor();
    await page.locator('dialog').waitFor({ state: 'detached' });
  });

  it('is told apart where the system chooses the colours: the view, and what is pressed', async () => {
    await open();
    await page.emulateMedia({ forcedColors: 'active' });
    const looks = (locator: Locator): Promise<string[]> =>
      locator.evaluateAll((elements) =>
        elements.map((element) => {
          const { backgroundColor, borderBottomColor } = getComputedStyle(element);
          return `${backgroundColor} ${borderBottomColor}`;
        }),
      );
    const [stops, ...others] = await looks(page.locator('.tab'));
    expect(others).not.toContain(stops);
    const [newest, longest] = await looks(page.locator('.segments button'));
    expect(newest).not.toBe(longest);
  });
});
