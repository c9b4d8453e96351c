import { eventually } from '../support/eventually.js';
import { PageUnderTest } from '../support/terminal-page/page-under-test.js';

const NAME = 'Grinder 1';

describe("the terminal's page over a long shift", () => {
  const shown = new PageUnderTest();

  it('shows what it knows, and does not take a plant for empty, while a server is starting', async () => {
    await shown.open();
    await shown.rowOf(NAME).first().waitFor();
    shown.terminal.setLink('restoring');
    shown.terminal.breakStreams();
    await eventually(() => shown.terminal.streams === 2, { what: 'another stream' });
    await shown.page.getByText('The server is starting').waitFor();
    await shown.rowOf(NAME).first().waitFor();
    for (const view of ['stops', 'wall']) {
      await shown.page.goto('about:blank');
      await shown.page.goto(`${shown.terminal.url}#/${view}`);
      await shown.page.getByText('The server is starting').waitFor();
      expect(await shown.page.locator('.empty').textContent()).toBe('Loading …');
    }
  });
});
