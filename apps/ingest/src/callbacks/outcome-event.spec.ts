import { frameJson } from '#libs/contracts';
import { readOutcomeEvent } from './outcome-event.js';

const HEADERS = Object.entries({
  ce_specversion: '1.0',
  ce_id: 'outcome-1',
  ce_source: '/machine-bridge',
  ce_type: 'work-order-list.applied.v1',
  'content-type': 'application/json',
});
const OUTCOME = { machineId: 'M-1', source: { topic: 't', sender: 'sap' } };

const eventOf = (value: Buffer | string, sender = 'sap') =>
  readOutcomeEvent({ value: Buffer.from(value), headers: HEADERS, unreadable: undefined }, sender);

describe('readOutcomeEvent', () => {
  it('reads an outcome, with and without the frame of a schema registry', () => {
    const json = JSON.stringify(OUTCOME);
    for (const value of [json, frameJson(7, json)]) {
      expect(eventOf(value)).toMatchObject({ id: 'outcome-1', data: OUTCOME });
    }
  });

  it('ignores outcomes of other senders, whatever a message contains', () => {
    const source = { topic: 't', messageId: '"sender":"shop"', sender: 'sap' };
    const json = JSON.stringify({ source, detail: { sender: 'shop' } });
    expect(eventOf(json, 'shop')).toBeUndefined();
    expect(eventOf('{', 'sap')).toBeUndefined();
  });
});
