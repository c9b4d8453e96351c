import { eventually } from '../support/eventually.js';
import { PLAIN_HTTP_HOST } from '../support/terminal-page/browser.js';
import { NOW } from '../support/terminal-page/fake-plant.js';
import { PageUnderTest } from '../support/terminal-page/page-under-test.js';

const NAME = 'Grinder 1';
const OTHER = 'Laser cutter 1';

describe("the terminal's page over a long shift", () => {
  const shown = new PageUnderTest();
  const live = () => shown.page.getByText('Live', { exact: true });
  const tokenField = () => shown.page.getByLabel('Token of the station');

  const openSignedIn = async (): Promise<void> => {
    shown.terminal.token = 'station-token';
    await shown.open();
    await shown.signIn();
    await shown.rowOf(NAME).first().waitFor();
  };

  it.each(['a redirect', 'an error'] as const)(
    'leads to the sign-in of a proxy that answers by %s, and then sends the entries made meanwhile',
    async (proxy) => {
      await shown.open();
      await shown.untilReasonsKnown(NAME);
      shown.terminal.proxy = proxy;
      await shown.giveReason(NAME, '13');
      const signIn = shown.page.getByRole('link', { name: 'Sign in this station' });
      await signIn.waitFor();
      await signIn.click();
      await shown.status(NAME, 'applied').waitFor();
      expect(shown.terminal.posts.flat()).toHaveLength(1);
    },
  );

  it("is never live because of a proxy's answer in place of the server's", async () => {
    await shown.open();
    await live().waitFor();
    shown.terminal.proxy = 'a page';
    shown.terminal.breakStreams();
    await shown.page.locator('[data-connection=bad]').waitFor();
    await shown.page.evaluate(() => {
      const place = document.querySelector('.connection')!;
      new MutationObserver(() => {
        if (place.textContent === 'Live') document.title = 'It was live';
      }).observe(place, { subtree: true, childList: true, characterData: true });
    });
    const isPage = (response: { url: () => string }) => response.url().includes('/api/events');
    for (let tries = 0; tries < 2; tries++) await shown.page.waitForResponse(isPage);
    await shown.page.locator('[data-connection=bad]').waitFor();
    expect(await shown.page.title()).not.toBe('It was live');
  });

  it('asks for the token when an operator registers after the session is over', async () => {
    await openSignedIn();
    shown.terminal.expireSession();
    await shown.page.getByRole('button', { name: 'Nobody registered' }).click();
    await shown.page.getByRole('textbox').pressSequentially('A. Kowalski', { delay: 60 });
    await shown.page.getByRole('button', { name: 'Register', exact: true }).click();
    // no sheet covers it
    await tokenField().click({ trial: true });
  });

  it('does not claim to be signed out when it cannot be', async () => {
    await openSignedIn();
    shown.terminal.isCut = true;
    await shown.signOut();
    await shown.page.getByText('The server does not answer. Try again.').waitFor();
    expect(await tokenField().count()).toBe(0);
  });

  it('is not signed out by a key held down', async () => {
    await openSignedIn();
    const { page } = shown;
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Sign out' }).focus();
    for (let presses = 0; presses < 4; presses++) await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await page.getByRole('button', { name: 'Tap again' }).waitFor();
    expect(await tokenField().count()).toBe(0);
  });

  it.each(['an object', 'an array'] as const)(
    'takes %s that a proxy answers in place of the server for no answer',
    async (proxy) => {
      await openSignedIn();
      const { page, terminal } = shown;
      await page.goto(`${terminal.url}#/machine/M-003`);
      await page.locator('.bar').first().waitFor();
      await page.goto(`${terminal.url}#/stops`);
      await shown.giveReason(NAME, '13');
      terminal.proxy = proxy;
      await page.waitForResponse((response) => response.url().endsWith('/api/reasons'));
      await page.goto(`${terminal.url}#/machine/M-003`);
      await shown.signOut();
      await page.getByText('The server does not answer. Try again.').waitFor();
      await page.goto(`${terminal.url}#/stops`);
      terminal.proxy = undefined;
      await shown.status(NAME, 'applied').waitFor();
    },
  );

  it('shows what it knows, and does not take the plant for empty, while a server is starting', async () => {
    await shown.open();
    await shown.rowOf(NAME).first().waitFor();
    shown.terminal.setLink('restoring');
    const before = shown.terminal.streams;
    shown.terminal.breakStreams();
    await eventually('another stream', () => shown.terminal.streams > before);
    await shown.page.getByText('The server is starting').waitFor();
    await shown.rowOf(NAME).first().waitFor();
    for (const view of ['stops', 'wall']) {
      await shown.page.goto('about:blank');
      await shown.page.goto(`${shown.terminal.url}#/${view}`);
      await shown.page.getByText('The server is starting').waitFor();
      expect(await shown.page.locator('.empty').textContent()).toBe('Loading …');
    }
  });

  it('says up to when every stop has its reason, as the bridge may have reported none since', async () => {
    const { terminal } = shown;
    terminal.plant.tiles.forEach((tile) => (tile.openStops = []));
    terminal.setLink('up', NOW - 240);
    await shown.open();
    await shown.page.getByText('States are known up to 14:03.').waitFor();
  });

  it('is not live while the bridge reports nothing, on any view', async () => {
    const { terminal } = shown;
    terminal.setLink('up', NOW - 600);
    await shown.open();
    await shown.page.getByText('States only up to 13:57').waitFor();
    expect(await live().count()).toBe(0);
    terminal.setLink('up', NOW - 60);
    await live().waitFor();
  });

  it('stays live when a proxy cuts its stream now and then', async () => {
    await shown.openWithClock();
    await live().waitFor();
    for (let times = 0; times < 2; times++) {
      await shown.untilHeard();
      await shown.page.clock.runFor(6_000);
    }
    await shown.page.evaluate(() => {
      const place = document.querySelector('.connection')!;
      new MutationObserver(() => (document.title = 'It was not live')).observe(place, {
        ...{ subtree: true, childList: true, characterData: true },
      });
    });
    const before = shown.terminal.streams;
    shown.terminal.breakStreams();
    await eventually('another stream', () => shown.terminal.streams > before);
    await eventually('it is followed', () => shown.terminal.following === 1);
    expect(await shown.page.title()).not.toBe('It was not live');
    // the server is unreachable as well
    await shown.page.clock.runFor(11_000);
    await shown.terminal.close();
    await shown.page.locator('[data-connection=bad]').waitFor();
  });

  it.each([false, true])(
    'holds no connection while it is hidden: a browser has six for all of its tabs (hidden when loaded: %s)',
    async (isLoadedHidden) => {
      const hide = (isHidden: boolean): void => {
        Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      };
      await shown.openAt('about:blank');
      const { page, terminal } = shown;
      await page.clock.install();
      if (isLoadedHidden) await page.addInitScript(hide, true);
      await page.goto(terminal.url);
      await live().waitFor();
      if (!isLoadedHidden) await page.evaluate(hide, true);
      await page.clock.runFor(31_000);
      // answered after all earlier requests of the page
      const untilAnswered = () => page.evaluate(() => fetch('/api/session'));
      await untilAnswered();
      await eventually('it has left', () => terminal.following === 0);
      const { streams } = terminal;
      await page.clock.runFor(31_000);
      await untilAnswered();
      expect(terminal.streams).toBe(streams);
      terminal.changeTiles({ ...terminal.tileOf('M-003'), openStops: [] });
      await page.evaluate(hide, false);
      await live().waitFor();
      await shown.rowOf(NAME).first().waitFor({ state: 'detached' });
    },
  );

  it('names in each tab the operator registered in one of them', async () => {
    await shown.open();
    const other = await shown.page.context().newPage();
    await other.goto(`${shown.terminal.url}#/wall`);
    await other.getByRole('button', { name: 'Nobody registered' }).waitFor();
    await shown.registerAs('E-4711');
    await other.getByRole('button', { name: 'E-4711' }).waitFor();
  });

  it('names the operator registered last in another tab, though this one can store nothing', async () => {
    await shown.open();
    const other = await shown.page.context().newPage();
    await other.goto(shown.terminal.url);
    await other.locator('.stop').first().waitFor();
    await shown.page.evaluate(() => {
      Storage.prototype.setItem = () => {
        throw new Error('there is no room');
      };
    });
    await shown.registerAs('E-4711');
    await shown.page.getByRole('button', { name: 'E-4711' }).waitFor();
    await other.getByRole('button', { name: 'Nobody registered' }).waitFor();
    await shown.registerAs('E-4712', other);
    await shown.page.getByRole('button', { name: 'E-4712' }).waitFor();
  });

  it('names the operator registered while its stream was being opened', async () => {
    await shown.openAt('about:blank');
    const { page } = shown;
    await page.addInitScript(() => {
      const fetched = window.fetch.bind(window);
      window.fetch = async (...request) => {
        const response = await fetched(...request);
        if (response.headers.get('content-type') === 'text/event-stream') {
          await new Promise((resolve) => Object.assign(window, { letThrough: resolve }));
        }
        return response;
      };
    });
    await page.goto(shown.terminal.url);
    await eventually('a stream', () => shown.terminal.streams === 1);
    await shown.registerAs('E-4711');
    await page.getByRole('button', { name: 'E-4711' }).waitFor();
    await page.evaluate(() => (window as unknown as { letThrough: () => void }).letThrough());
    await shown.rowOf(NAME).first().waitFor();
    expect(await page.getByRole('button', { name: 'E-4711' }).count()).toBe(1);
  });

  it('names the operator registered since its stream began, though the factories change meanwhile', async () => {
    await shown.open();
    await shown.rowOf(NAME).first().waitFor();
    await shown.registerAs('E-4711');
    await shown.page.getByRole('button', { name: 'E-4711' }).waitFor();
    const { plant } = shown.terminal;
    const factories = [...plant.session.factories, { factoryId: 'F-3', factoryName: 'Plant West' }];
    // the server's session has the operator of the cookie with which the stream began
    plant.session = { ...plant.session, factories, operator: null };
    shown.terminal.sendSession();
    await shown.page.getByRole('option', { name: 'Plant West' }).waitFor({ state: 'attached' });
    expect(await shown.page.getByRole('button', { name: 'E-4711' }).count()).toBe(1);
  });

  it.each(['after', 'before'])(
    'names the operator registered again %s the stream reports a new shift, though the factories change meanwhile',
    async (when) => {
      const { terminal } = shown;
      const named = () => shown.page.getByRole('button', { name: 'E-4711' });
      terminal.plant.session.operator = 'E-4711';
      await shown.open();
      await named().waitFor();
      await shown.page.reload();
      await shown.rowOf(NAME).first().waitFor();
      const [shift] = terminal.plant.session.shifts;
      const shifts = [{ ...shift!, startTime: shift!.startTime + 60 }];
      terminal.plant.session = { ...terminal.plant.session, shifts, operator: null };
      if (when === 'after') {
        terminal.sendSession();
        await shown.page.getByRole('button', { name: 'Nobody registered' }).waitFor();
      }
      await shown.registerAs('E-4711');
      await shown.page.getByText('E-4711 is registered.').waitFor();
      const west = { factoryId: 'F-3', factoryName: 'Plant West' };
      const factories = [...terminal.plant.session.factories, west];
      terminal.plant.session = { ...terminal.plant.session, factories, operator: null };
      terminal.sendSession();
      await shown.page.getByRole('option', { name: 'Plant West' }).waitFor({ state: 'attached' });
      expect(await named().count()).toBe(1);
    },
  );

  it('works in browsers of 2022, as on tablets without updates', async () => {
    await shown.openAt('about:blank');
    await shown.page.addInitScript(() => {
      for (const name of ['any', 'timeout']) Reflect.deleteProperty(AbortSignal, name);
    });
    await shown.page.goto(shown.terminal.url);
    await live().waitFor();
    await shown.rowOf(NAME).first().waitFor();
    await shown.giveReason(NAME, '13');
    await shown.status(NAME, 'applied').waitFor();
  });

  it('keeps the draft of a note, though its sheet is closed by a tap beside it, or the page is reloaded', async () => {
    await shown.open('#/machine/M-001');
    const begin = () => shown.page.getByRole('button', { name: 'Add a note' }).click();
    await begin();
    await shown.page.getByRole('textbox').pressSequentially('Spindle is', { delay: 60 });
    await shown.page.mouse.click(5, 5);
    await shown.page.locator('dialog').waitFor({ state: 'detached' });
    await shown.page.reload();
    await begin();
    expect(await shown.page.getByRole('textbox').inputValue()).toBe('Spindle is');
    await shown.page.getByRole('button', { name: 'Save' }).click();
    await shown.page.locator('dialog').waitFor({ state: 'detached' });
    await begin();
    expect(await shown.page.getByRole('textbox').inputValue()).toBe('');
  });

  it('names the day of a state that began before midnight', async () => {
    const tenHours = 10 * 3600;
    const untilMidnight = tenHours - 7 * 60 - 5;
    shown.terminal.plant.session.clock.epochSeconds = NOW + untilMidnight;
    await shown.openWithClock('#/wall');
    const state = shown.page.locator('.tile-state').first();
    await state.filter({ hasText: /since \d/ }).waitFor();
    // shorter than the silence after which a page reconnects and receives the earlier time
    await shown.page.clock.runFor(12_000);
    await shown.page.locator('.clock', { hasText: '00:0' }).waitFor();
    await state.filter({ hasText: /since Mon \d/ }).waitFor();
  });

  it('is loaded from the server when the browser cannot read its cache', async () => {
    await shown.open();
    await shown.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    const [shell] = shown.page.context().serviceWorkers();
    await shell!.evaluate(() => {
      const fail = () => Promise.reject(new Error('the cache is broken'));
      Object.assign(caches, { open: fail, match: fail });
    });
    await shown.page.reload();
    await live().waitFor();
  });

  it.each([
    ["a proxy's sign-in", () => '<p>Who are you?</p>'],
    ['that of another version', (html: string) => html.replace(/index-[\w-]+\.js/, 'index-old.js')],
  ])('does not cache an answer in place of its own page: %s', async (_, answered) => {
    await shown.open();
    await shown.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    shown.terminal.frontPage = answered(await (await fetch(shown.terminal.url)).text());
    shown.terminal.release = 2;
    await shown.page.evaluate(async () => {
      const { installing } = await (await navigator.serviceWorker.ready).update();
      await new Promise((resolve) => installing?.addEventListener('statechange', resolve));
    });
    shown.terminal.frontPage = undefined;
    const next = await shown.page.context().newPage();
    await next.goto(shown.terminal.url);
    await next.getByText('Live', { exact: true }).waitFor();
  });

  it('takes over a new version though it was loaded before the first service worker', async () => {
    await shown.open();
    await shown.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    shown.terminal.release = 2;
    const loaded = shown.page.waitForEvent('load');
    await shown.page.evaluate(async () => (await navigator.serviceWorker.ready).update());
    await loaded;
  });

  it('takes over a new version though the first could not be cached', async () => {
    await shown.openAt('about:blank');
    const { page } = shown;
    await page.addInitScript(() => {
      const { serviceWorker } = navigator;
      serviceWorker.register = () => {
        // the next call is the browser's own
        Reflect.deleteProperty(serviceWorker, 'register');
        return Promise.reject(new Error('the server is away'));
      };
    });
    await page.clock.install();
    await page.goto(shown.terminal.url);
    await live().waitFor();
    const loaded = page.waitForEvent('load');
    await page.clock.fastForward(3_600_000);
    await loaded;
  });

  /** Serves a page that names another script than the open one. */
  const serveNewPage = (url: string): Promise<unknown> =>
    shown.page.route(url, async (route) => {
      const response = await route.fetch({ url: shown.terminal.url });
      const html = (await response.text()).replace(/index-[^.]+\.js/, 'index-new.js');
      await route.fulfill({ response, body: html });
    });

  it('takes over a new version where no service worker is allowed', async () => {
    await shown.openAt('about:blank');
    const { page, terminal } = shown;
    await page.addInitScript(() => {
      navigator.serviceWorker.register = () => Promise.reject(new Error('it is not allowed'));
    });
    await page.clock.install();
    await page.goto(terminal.url);
    await live().waitFor();
    await serveNewPage(terminal.url);
    const loaded = page.waitForEvent('load');
    await page.clock.fastForward(3_600_000);
    await loaded;
  });

  it('takes over a new version over plain http, too, once nobody is picking stops and the server answers', async () => {
    await shown.openAt('about:blank');
    const { page } = shown;
    await page.clock.install();
    const url = new URL(shown.terminal.url);
    url.hostname = PLAIN_HTTP_HOST;
    await page.goto(`${url.href}#/stops`);
    await page.getByRole('button', { name: 'Select several' }).click();
    let loads = 0;
    page.on('load', () => (loads += 1));
    await page.clock.fastForward(3_600_000);
    await page.clock.runFor(6_000);
    await serveNewPage(url.href);
    const asked = page.waitForResponse(url.href);
    await page.clock.fastForward(3_600_000);
    await (await asked).finished();
    await page.clock.runFor(6_000);
    expect(loads).toBe(0);
    await page.unroute(url.href);
    await shown.terminal.close();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.clock.runFor(6_000);
    await page.locator('[data-connection=bad]').waitFor();
    await shown.terminal.listen();
    await eventually('it is loaded anew', async () => {
      await page.clock.runFor(6_000);
      return loads > 0;
    });
  });

  describe('continues after the clock of its device is set back', () => {
    const setBack = async (): Promise<void> => {
      const before = shown.terminal.streams;
      const hourAgo = (await shown.page.evaluate(() => Date.now())) - 3600_000;
      await shown.page.clock.setSystemTime(hourAgo);
      await shown.page.clock.runFor(6_000);
      await eventually('another stream', () => shown.terminal.streams > before);
    };

    it('with new stops, though the list was touched before', async () => {
      await shown.openWithClock();
      await shown.rowOf(NAME).first().hover();
      await shown.page.clock.runFor(6_000);
      await setBack();
      const running = shown.terminal.tileOf('M-001');
      const stop = { startTime: NOW - 600, endTime: null, state: 'IDLE' } as const;
      shown.terminal.changeTiles({ ...running, openStops: [stop] });
      await shown.rowOf(running.displayName).waitFor();
    });

    it('with the reasons of a machine', async () => {
      await shown.openWithClock('#/machine/M-003');
      await shown.page.getByText('No reason in this shift yet.').waitFor();
      await setBack();
      shown.terminal.takeEntry({
        ...{ entryId: 'e', machineId: 'M-003', reasonId: '13', startTime: NOW - 600, endTime: NOW },
      });
      await shown.page.clock.runFor(2_000);
      await shown.page.locator('.given', { hasText: 'Set-up' }).waitFor();
    });
  });

  it('removes entries answered long ago', async () => {
    await shown.openWithClock();
    await shown.giveReason(NAME, '13');
    await shown.page.clock.runFor(11_000);
    await shown.status(NAME, 'applied').waitFor();
    await shown.page.clock.fastForward('25:00:00');
    await shown.giveReason(OTHER, '20');
    await shown.status(OTHER, 'undo').waitFor();
    const kept = await shown.page.evaluate(
      () =>
        new Promise<string[]>((resolve) => {
          indexedDB.open('machine-terminal').onsuccess = ({ target }) => {
            const { result } = target as IDBOpenDBRequest;
            const all = result.transaction('outgoing').objectStore('outgoing').getAll();
            all.onsuccess = () => {
              resolve((all.result as { reasonId: string }[]).map(({ reasonId }) => reasonId));
            };
          };
        }),
    );
    expect(kept).toEqual(['20']);
  });
});
