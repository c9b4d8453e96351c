import type { Locator } from 'playwright-core';
import { PHONE, screenshot, TABLET, WALL } from '../support/terminal-page/browser.js';
import { fakePlant } from '../support/terminal-page/fake-plant.js';
import { PageUnderTest } from '../support/terminal-page/page-under-test.js';

const STANDING = 'M-003';
const LONG =
  'Bearbeitungszentrum Donaudampfschifffahrtsgesellschaft, Halle 3 Nord, mit Palettenwechsler';
const LONG_FACTORY =
  'Werk Nordost für Getriebegehäuse, Antriebswellen und Sondermaschinen, Gebäudeteile 4 bis 7';
const OPERATOR = 'Maximiliane Schneider';
const ARABIC = 'توقف بسبب عطل';

/** Parts of the bar that overlap others, or are cut. */
const overlapsOf = (bar: Locator): Promise<string[]> =>
  bar.evaluate((element) => {
    const parts = [...element.querySelectorAll('.tab, .connection, .clock, .top .button')]
      .map((part) => {
        const range = document.createRange();
        range.selectNodeContents(part);
        return { part, content: range.getBoundingClientRect() };
      })
      .filter(({ part }) => part.getClientRects().length > 0);
    const cut = [...element.querySelectorAll('.connection-text, .top-button-text')]
      .filter((it) => it.scrollWidth > it.clientWidth + 1 || it.scrollHeight > it.clientHeight + 1)
      .map((it) => `${it.textContent} is cut`);
    return parts
      .flatMap(({ part, content: a }, index) =>
        parts
          .slice(index + 1)
          .filter(
            ({ content: b }) =>
              Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
              Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1,
          )
          .map((other) => `${other.part.className} lies on ${part.textContent}`),
      )
      .concat(cut);
  });

describe("the display of the terminal's page", () => {
  const shown = new PageUnderTest();

  const buttons = (): Locator => shown.page.locator('.stop button.stop-main');

  it.each([
    ['phone', PHONE, 18],
    ['tablet', TABLET, 18],
    ['phone with fonts twice as large', PHONE, 36],
    ['tablet with fonts twice as large', TABLET, 36],
    ['tablet zoomed to twice the size', { width: 640, height: 400 }, 18],
  ])('fits on the screen of a %s, however long names are', async (size, viewport, fontSize) => {
    shown.terminal.tileOf(STANDING).displayName = LONG;
    shown.terminal.plant.session.factories[0]!.factoryName = LONG_FACTORY;
    shown.terminal.plant.session.operator = OPERATOR;
    await shown.open('#/stops', { viewport });
    await shown.page.evaluate((px) => {
      document.documentElement.style.fontSize = `${px}px`;
    }, fontSize);
    for (const hash of ['#/stops', '#/wall', `#/machine/${STANDING}`, '#/hand-over']) {
      await shown.page.goto(shown.terminal.url + hash);
      await shown.page.getByText(LONG).first().waitFor();
      await screenshot(shown.page, `${size.replaceAll(' ', '-')}-long-${hash.split('/')[1]!}`);
      const [content, screen] = await shown.page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return [scrollWidth, clientWidth];
      });
      expect([hash, content]).toEqual([hash, screen]);
      expect(await overlapsOf(shown.page.locator('.top'))).toEqual([]);
    }
  });

  it('shows the name of a machine in whole words beside many orders', async () => {
    const tile = shown.terminal.tileOf(STANDING);
    tile.displayName = LONG;
    tile.workingOrders = Array.from({ length: 12 }, (_, index) => `45000123${10 + index}-0010`);
    await shown.open(`#/machine/${STANDING}`, { viewport: { width: 600, height: 800 } });
    const title = shown.page.locator('.machine-title');
    await title.waitFor();
    await screenshot(shown.page, 'machine-many-orders');
    expect((await title.boundingBox())!.width).toBeGreaterThan(300);
  });

  it('shows times in their order beside names written from right to left', async () => {
    const [list] = shown.terminal.plant.reasons.lists;
    list!.find(({ code }) => code === '31')!.name = ARABIC;
    await shown.open(`#/machine/${STANDING}`);
    await buttons().last().click();
    await shown.page.locator('.reason-button[data-code="31"]').first().click();
    const period = shown.page.locator('.given-list .given-when').first();
    await shown.page.locator('.given-list', { hasText: ARABIC }).waitFor();
    // positions of the first and the last character of "13:11–13:36"
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

  it('fills the sheet with 500 reasons without groups, which a few letters find', async () => {
    shown.terminal.plant.session.reasonLooks = {};
    shown.terminal.plant.reasons.lists[0] = Array.from({ length: 500 }, (_, index) => ({
      ...{ code: String(1000 + index), name: `Reason ${index}` },
    }));
    await shown.open();
    await buttons().first().click();
    const choices = shown.page.locator('.reason-groups .reason-button');
    await choices.last().waitFor({ state: 'attached' });
    const [first, third] = await Promise.all(
      [choices.nth(0), choices.nth(2)].map((it) => it.boundingBox()),
    );
    expect(third!.y).toBe(first!.y);
    await shown.page.getByRole('searchbox').fill('son 499');
    await choices.filter({ hasText: 'Reason 499' }).waitFor();
    expect(await choices.count()).toBe(1);
  });

  it('is as large on a 4K wall, and no larger on a wide one than its height allows', async () => {
    const letters = async (count: number, times: number, wall = WALL): Promise<number> => {
      shown.terminal.plant = fakePlant(count);
      const viewport = { width: times * wall.width, height: times * wall.height };
      await shown.open('#/wall', { viewport });
      const last = shown.page.locator('.tile').nth(count - 1);
      await last.waitFor();
      await screenshot(shown.page, `wall-${viewport.width}-${count}`);
      const box = await last.boundingBox();
      if (count <= 36 || times === 2)
        expect(box!.y + box!.height).toBeLessThanOrEqual(viewport.height);
      const word = await last.locator('.tile-state b').boundingBox();
      await shown.page.context().close();
      return word!.height;
    };
    for (const [count, times] of [
      [12, 1.9],
      [36, 1.8],
      [100, 1.05],
    ] as const) {
      const small = await letters(count, 1);
      expect(await letters(count, 2)).toBeGreaterThan(times * small);
    }
    await letters(16, 1, { width: 3440, height: 1440 });
    await shown.open('#/wall');
  });

  it.each([12, 60, 300])('shows the whole name of each of %i machines on a wall', async (count) => {
    const names = [
      'Injection moulder 12 · Plant North',
      'Bearbeitungszentrum Halle 3 Nord, Palettenwechsler 17',
      'Donaudampfschifffahrtsgesellschaftskapitänskajüte',
    ];
    for (const times of [1, 2]) {
      shown.terminal.plant = fakePlant(count);
      const { tiles } = shown.terminal.plant;
      tiles.forEach((tile, at) => (tile.displayName = `${names[at % 3]!} ${at}`));
      const viewport = { width: times * WALL.width, height: times * WALL.height };
      await shown.open('#/wall', { viewport, locale: 'de-DE' });
      await shown.page
        .locator('.tile-name')
        .nth(count - 1)
        .waitFor();
      await screenshot(shown.page, `wall-names-${viewport.width}-${count}`);
      const cut = await shown.page.locator('.tile-name').evaluateAll((all) =>
        all
          .filter(
            (it) =>
              it.scrollWidth > it.clientWidth ||
              // high fonts extend a little beyond their lines
              it.scrollHeight > it.clientHeight + parseFloat(getComputedStyle(it).fontSize) / 2,
          )
          .map((it) => it.textContent),
      );
      expect(cut).toEqual([]);
      if (times === 1) await shown.page.context().close();
    }
  });

  it.each(['en-GB', 'de-DE'])('keeps text inside filters on phones (%s)', async (locale) => {
    shown.terminal.plant = fakePlant(600);
    await shown.open('#/wall', { locale });
    for (const width of [320, 360, 390]) {
      await shown.page.setViewportSize({ width, height: 740 });
      await shown.page.locator('.tile').first().waitFor();
      const outside = await shown.page.locator('.filters .chip').evaluateAll((all) =>
        all
          .filter((it) => {
            const content = document.createRange();
            content.selectNodeContents(it);
            const [inner, outer] = [content, it].map((each) => each.getBoundingClientRect());
            const padding = parseFloat(getComputedStyle(it).paddingRight);
            return inner!.right > outer!.right - padding || inner!.left < outer!.left + padding;
          })
          .map((it) => it.textContent),
      );
      expect([width, outside]).toEqual([width, []]);
      expect(await shown.page.locator('.filters .chip').count()).toBeGreaterThan(3);
    }
  });

  it.each([
    ['a phone in landscape', { width: 568, height: 320 }],
    ['a tablet zoomed to four times the size', { width: 320, height: 256 }],
  ])('does not cover the reasons with fixed elements on %s', async (_, viewport) => {
    await shown.open('#/stops', { viewport, locale: 'de-DE' });
    await buttons().last().click();
    const [choice, head, hints] = await Promise.all(
      ['.reason-button', '.sheet-head', '.sheet-hints'].map((part) =>
        shown.page.locator(part).first().boundingBox(),
      ),
    );
    expect(head!.y + head!.height).toBeLessThan(choice!.y);
    expect(choice!.y + choice!.height).toBeLessThan(hints!.y);
  });

  it('scrolls to the last reason in browsers of 2022, which do not support dvh', async () => {
    const reasons = Array.from({ length: 200 }, (_, n) => ({ code: `${n}`, name: `Reason ${n}` }));
    shown.terminal.plant.reasons.lists[0] = reasons;
    await shown.openAt('about:blank');
    await shown.page.route('**/*.css', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replaceAll('dvh', 'unit') });
    });
    for (const viewport of [TABLET, PHONE]) {
      await shown.page.setViewportSize(viewport);
      await shown.page.goto('about:blank');
      await shown.page.goto(`${shown.terminal.url}#/stops`);
      await shown.page.locator('button.stop-main').first().click();
      const last = shown.page.locator('.reason-button[data-code="199"]').last();
      await last.scrollIntoViewIfNeeded();
      const box = await last.boundingBox();
      expect(box!.y + box!.height).toBeLessThanOrEqual(viewport.height);
    }
  });

  it('keeps the width of a sheet, however long the codes of reasons are', async () => {
    shown.terminal.plant.reasons.lists[0] = [{ code: 'C'.repeat(200), name: 'Set-up' }];
    await shown.open('#/stops', { viewport: PHONE });
    await buttons().first().click();
    const sheet = shown.page.locator('dialog[open]');
    await sheet.locator('.reason-button').first().waitFor();
    const [content, screen] = await sheet.evaluate((it) => [it.scrollWidth, it.clientWidth]);
    expect(content).toBe(screen);
  });

  it.each([
    ['en-GB', TABLET],
    ['de-DE', TABLET],
    ['de-DE', PHONE],
  ])(
    'keeps the name of a reason whole, and its place, when it asks for a second tap (%s, %o)',
    async (locale, viewport) => {
      await shown.open(`#/machine/${STANDING}`, { locale, viewport });
      await shown.page.locator('.bar[data-state=OPERATING]').first().click();
      const sheet = shown.page.locator('dialog[open]');
      // the favourite, and the same reason in its group
      const [name, button] = ['.reason-button-name', ''].map((part) =>
        sheet.locator(`.reason-button[data-code="14"] ${part}`.trim()),
      );
      const heights = (locator: Locator): Promise<number[]> =>
        locator.evaluateAll((all) => all.map((it) => it.getBoundingClientRect().height));
      await button!.first().waitFor();
      const before = [await heights(name!), await heights(button!)];
      await button!.first().click();
      await sheet.locator('.reason-button.armed').first().waitFor();
      expect([await heights(name!), await heights(button!)]).toEqual(before);
      await screenshot(shown.page, `armed-${locale}-${viewport.width}`);
    },
  );

  it('closes a sheet when its view is left by the back button', async () => {
    await shown.open('#/wall');
    await shown.page.getByRole('link', { name: 'Needs a reason' }).click();
    await buttons().first().click();
    await shown.page.locator('dialog[open]').waitFor();
    await shown.page.goBack();
    await shown.page.locator('.tiles').waitFor();
    await shown.page.locator('dialog').waitFor({ state: 'detached' });
  });

  it('distinguishes the present view and pressed buttons in forced colours', async () => {
    await shown.open();
    await shown.page.emulateMedia({ forcedColors: 'active' });
    const looks = async (locator: Locator): Promise<string[]> => {
      await locator.last().waitFor();
      return locator.evaluateAll((elements) =>
        elements.map((element) => {
          const { backgroundColor, borderBottomColor } = getComputedStyle(element);
          return `${backgroundColor} ${borderBottomColor}`;
        }),
      );
    };
    const [stops, ...others] = await looks(shown.page.locator('.tab'));
    expect(others).not.toContain(stops);
    const [newest, longest] = await looks(shown.page.locator('.segments button'));
    expect(newest).not.toBe(longest);
    await buttons().last().click();
    await shown.page.getByRole('button', { name: 'Split' }).click();
    const slider = shown.page.getByRole('slider');
    expect(await slider.evaluate((it) => getComputedStyle(it).borderTopStyle)).toBe('solid');
  });

  it("shows times under a shift's strip readably in forced dark colours", async () => {
    await shown.open('#/machine/M-003', { forcedColors: 'active', colorScheme: 'dark' });
    const text = shown.page.locator('.tick-mark text').first();
    await text.waitFor();
    const [fill, ink] = await text.evaluate((element) => [
      getComputedStyle(element).fill,
      getComputedStyle(document.body).color,
    ]);
    expect(fill).toBe(ink);
  });
});
