import { machineIdsOf, positionOf } from './dead-letter.js';
import { deadLetter, FAILED_AT } from './testing/dead-letter.js';

describe('a stored dead letter', () => {
  it('failed when its header says, else when it was written', () => {
    expect(deadLetter().failedAt).toBe(FAILED_AT);
    expect(deadLetter({ headers: { 'dlq-failed-at': undefined } }).failedAt).toBe(1_763_680_061);
  });

  it('lies at its partition and offset', () => {
    expect(positionOf(deadLetter({ partition: 3, offset: 17 }))).toBe('3/17');
  });
});

describe('machineIdsOf', () => {
  it('takes the machines at fault before the one the message names', () => {
    expect(machineIdsOf(deadLetter({ headers: { 'dlq-machine-ids': 'M-7,M%2C8' } }))).toEqual([
      'M-7',
      'M,8',
    ]);
  });

  it('finds the machine in the message, also inside a CloudEvent', () => {
    expect(machineIdsOf(deadLetter({ value: '{"machineId":"M-5"}' }))).toEqual(['M-5']);
    const event = { specversion: '1.0', id: '1', source: '/mes', type: 't' };
    const value = JSON.stringify({ ...event, data: { machineId: 'M-6' } });
    const headers = { 'content-type': 'application/cloudevents+json' };
    expect(machineIdsOf(deadLetter({ value, headers }))).toEqual(['M-6']);
  });

  it.each([
    ['no JSON', '{"machineId":'],
    ['no object', '17'],
    ['null', 'null'],
    ['a machine that is no text', '{"machineId":7}'],
  ])('falls back to the key, where the message is %s', (_, value) => {
    expect(machineIdsOf(deadLetter({ value }))).toEqual(['M-1']);
  });

  it('knows of none where nothing names one', () => {
    expect(machineIdsOf(deadLetter({ value: null, key: null }))).toEqual([]);
  });
});
