/* global window, PerformanceObserver, requestAnimationFrame -- of the page, where page.evaluate runs its functions */
import { chromium } from 'playwright-core';
import { findChromium } from '../test/find-chromium.mjs';

const TABLET = { width: 1280, height: 800 };
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage'];

/** A tablet that shows the wall; undefined if there is no Chromium. */
export async function openTablet(url) {
  const executablePath = await findChromium();
  if (executablePath === undefined) return undefined;
  const browser = await chromium.launch({ executablePath, args: ARGUMENTS });
  const context = await browser.newContext({ viewport: TABLET, locale: 'en-GB' });
  const page = await context.newPage();
  const load = await firstLoad(page, url);
  return { page, load, close: () => browser.close() };
}

/** Transferred bytes except those of events, and when the first paint and the first tile were there. */
async function firstLoad(page, url) {
  await page.goto(`${url}/#/wall`);
  await page.locator('.tile').first().waitFor();
  return page.evaluate(() => {
    const entries = [
      ...performance.getEntriesByType('navigation'),
      ...performance.getEntriesByType('resource'),
    ];
    const bytes = entries.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    return { bytes, paintMs: paint.startTime, tilesMs: performance.now() };
  });
}

/**
 * Durations, in milliseconds, of the tasks over 50 ms and of all frames, of a page that is slowed down by a factor
 * while `work` runs.
 */
export async function watchFrames({ page }, slowedDown, work) {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('Emulation.setCPUThrottlingRate', { rate: slowedDown });
  await page.evaluate(() => {
    const seen = { tasks: [], frames: [] };
    window.seen = seen;
    new PerformanceObserver((list) => {
      seen.tasks.push(...list.getEntries().map(({ duration }) => duration));
    }).observe({ type: 'longtask' });
    let before = performance.now();
    const onFrame = (now) => {
      seen.frames.push(now - before);
      before = now;
      requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);
  });
  await work();
  return page.evaluate(() => window.seen);
}
