import type { Browser, Locator, Page } from 'playwright-core';
import { realEpochMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { testBrokers } from '../support/kafka.js';
import { type Plant, startPlant } from '../support/plant.js';
import { RunningTerminal } from '../support/running-terminal.js';
import { launchChromium, openPage, screenshot } from '../support/terminal-page/browser.js';
import { header, json } from '../support/topic-reader.js';

const MACHINE = 'M-001';
const OTHER = 'M-002';
const CORRECTED = 'M-003';

/** From a tap on the screen to the service and back: the terminal's server, Kafka, the bridge, the sandbox. */
describe("a stop explained on the terminal's page", () => {
  let browser: Browser;
  let plant: Plant;
  let relay: KafkaRelay;
  let terminal: RunningTerminal;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    browser = await launchChromium();
    plant = await startPlant({
      clockSpeed: 60,
      // the log is read again three quarters of a minute after a change, and shows corrections made by then
      env: { SETTLE_SECONDS: '2700' },
      sandboxEnv: { SANDBOX_MACHINES: '3' },
      // all have run since before the shift, so that each has only the stop that a test makes
      prepare: async (_, sandbox) => {
        const hoursAgo = Math.floor(realEpochMs() / 1000) - 4 * 3600;
        for (const id of [MACHINE, OTHER, CORRECTED]) {
          await sandbox.forceState(id, 'OPERATING', hoursAgo);
        }
      },
    });
    relay = await KafkaRelay.to(testBrokers()[0]!);
    // one shift of a day, begun two hours ago: the plant's clock is fast, and a reason ends with its shift
    const shiftStart = new Date((plant.clock.nowSeconds() - 7200) * 1000);
    terminal = await RunningTerminal.start(plant.kafka.topicPrefix, {
      ...plant.clockEnv,
      TERMINAL_SHIFTS: shiftStart.toISOString().slice(11, 16),
      KAFKA_BROKERS: relay.address,
      TERMINAL_REASONS_FILE: 'demo/terminal-reasons.json',
    });
    await terminal.ready();
    ({ page, complaints } = await openPage(browser, `${terminal.url}/#/stops`));
    await page.getByText('Live').waitFor();
  });

  afterAll(async () => {
    await browser.close();
    await terminal.close();
    await relay.close();
    await plant.close();
  });

  const row = (): Locator => page.locator(`.stop[data-key^="${MACHINE}|"]`).first();

  /** Reasons as the service received them, oldest first. */
  const received = async (): Promise<
    { reasonId: string; startTime: number; endTime?: number }[]
  > => {
    const calls = await plant.sandbox.calls('setMachineClassification');
    return calls
      .filter(({ machineIds, status }) => machineIds.includes(MACHINE) && status === 200)
      .map(({ body }) => body as { reasonId: string; startTime: number; endTime?: number });
  };

  it('is applied, and the operator sees it', async () => {
    await plant.sandbox.forceState(MACHINE, 'IDLE');
    await row().locator('button.stop-main').waitFor();
    await row().locator('button.stop-main').click();
    await page.locator('.reason-button[data-code="14"]').first().click();
    await row().locator('[data-status=applied]').waitFor();
    await screenshot(page, 'plant-applied');
    expect(await received()).toMatchObject([{ reasonId: '14' }]);
    const reasons = await plant.kafka.read(TOPICS.downtimeReasons);
    const record = await reasons.find(
      'the reason on its topic',
      ({ key }) => key?.toString() === MACHINE,
    );
    expect(header(record, 'message-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is replaced by another reason for the same time', async () => {
    await page.goto(`${terminal.url}/#/machine/${MACHINE}`);
    await page.getByRole('button', { name: 'Correct' }).first().click();
    await page.locator('.reason-button[data-code="16"]').first().click();
    const last = await eventually('the service has the other reason', async () =>
      (await received()).find(({ reasonId }) => reasonId === '16'),
    );
    expect(last.startTime).toBe((await received())[0]?.startTime);
    await page
      .locator('.given')
      .filter({ hasText: 'No material' })
      .locator('[data-status=applied]')
      .first()
      .waitFor();
  });

  it('gets its end when the machine runs again, without the page', async () => {
    await page.goto('about:blank');
    await plant.sandbox.forceState(MACHINE, 'OPERATING');
    const ending = await eventually('the reason has an end', async () =>
      (await received()).find(
        ({ reasonId, endTime }) => reasonId === '16' && endTime !== undefined,
      ),
    );
    expect(ending.startTime).toBe((await received())[0]?.startTime);
  });

  it('is marked when the service corrects the stop it was given for', async () => {
    const stop = page.locator(`.stop[data-key^="${CORRECTED}|"]`);
    await page.goto(`${terminal.url}/#/machine/${CORRECTED}`);
    await plant.sandbox.forceState(CORRECTED, 'IDLE');
    await stop.locator('button.stop-main').click();
    await page.locator('.reason-button[data-code="14"]').first().click();
    await stop.locator('[data-status=applied]').waitFor();
    const began = Number((await stop.getAttribute('data-key'))?.split('|')[1]);
    // the log reports that the machine ran three minutes longer
    await plant.sandbox.forceState(CORRECTED, 'OPERATING', began, began + 180);
    await plant.sandbox.forceState(CORRECTED, 'IDLE', began + 180);
    await page.locator('.given.moved').waitFor();
    await screenshot(page, 'plant-moved');
  });

  it('is sent once after an outage of Kafka, and the page says that it waits', async () => {
    const other = (): Locator => page.locator(`.stop[data-key^="${OTHER}|"]`);
    await page.goto(`${terminal.url}/#/stops`);
    await page.getByText('Live').waitFor();
    expect(await other().count()).toBe(0);
    await plant.sandbox.forceState(OTHER, 'IDLE');
    await other().locator('button.stop-main').waitFor();
    relay.cut();
    await page.getByText('Kafka is away').waitFor();
    await other().locator('button.stop-main').click();
    await page.locator('.reason-button[data-code="20"]').first().click();
    await page.getByText(/1 not sent since/).waitFor();
    await other().locator('[data-status=queued]').waitFor();
    relay.restore();
    await other().locator('[data-status=applied]').waitFor();
    const reasons = await plant.kafka.read(TOPICS.downtimeReasons);
    await reasons.find('the reason on its topic', ({ key }) => key?.toString() === OTHER);
    const sent = reasons.records.filter(({ key }) => key?.toString() === OTHER);
    // plant time continues: if the machine runs again, the same reason follows with its end
    const periods = sent.map((record) => {
      const { startTime, endTime = 'open' } = json(record) as {
        startTime: number;
        endTime?: number;
      };
      return `${startTime} to ${endTime}`;
    });
    const [start = ''] = (periods[0] ?? '').split(' to ');
    expect(periods).toEqual([...new Set(periods)].filter((period) => period.startsWith(start)));
    const ids = new Set(sent.map((record) => header(record, 'message-id')));
    expect(ids.size).toBe(sent.length);
  });

  it('causes no complaint of the browser', () => {
    expect(complaints).toEqual([]);
  });
});
