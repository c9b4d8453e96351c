import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const SCREENSHOTS = join(import.meta.dirname, '../../../.local/screenshots');

export const TABLET = { width: 1280, height: 800 };
export const WALL = { width: 1920, height: 1080 };
export const PHONE = { width: 390, height: 844 };
/** Also the width of 1280 pixels at a zoom of four. */
export const SMALL_PHONE = { width: 320, height: 568 };

/** Unlike 127.0.0.1 not a secure context: no service worker, no Web Locks, no persistent storage. */
export const PLAIN_HTTP_HOST = 'terminal.test';

/** Chromium's errors for a file or service worker that could not be fetched, which tests provoke. */
const UNREACHABLE = [
  'Failed to load resource',
  'An unknown error occurred when fetching the script.',
  'A bad HTTP response code (503) was received when fetching the script.',
];

/** The Chromium that the set-up of `npm test` found; tools/test/find-chromium.mjs says where it looks. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM_PATH'];
  if (!executablePath) throw new Error('CHROMIUM_PATH is not set: run these tests with npm test');
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  return chromium.launch({
    executablePath,
    args: [...args, `--host-resolver-rules=MAP ${PLAIN_HTTP_HOST} 127.0.0.1`],
  });
}

/**
 * A page whose errors, and whose breaches of the content security policy, are collected in `complaints` and fail the
 * test.
 */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: TABLET, locale: 'en-GB', ...options });
  // on a busy computer, the usual half minute is too short
  context.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  // also pages that a test opens in addition
  context.on('page', (opened) => {
    opened.on('pageerror', (error) => complaints.push(String(error)));
    opened.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && !UNREACHABLE.some((it) => text.startsWith(it)))
        complaints.push(text);
    });
  });
  const page = await context.newPage();
  await page.goto(url);
  return { page, complaints };
}

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}
