import fc from 'fast-check';
import { createHash } from 'node:crypto';
import {
  cloudEventHeaders,
  factorySource,
  outcomeId,
  SEQUENCE_EXTENSION,
  stateChangeId,
} from './cloud-events.js';
import { OUTCOME_TYPES } from './command-outcomes.js';
import { anyCharacter } from './testing/any-character.js';

describe('headers of an event', () => {
  it('are those of CloudEvents in binary mode', () => {
    const headers = cloudEventHeaders({
      id: 'e-1',
      source: factorySource('F 1/ä'),
      type: 'machine.state.changed.v1',
      time: 1763680000,
      subject: 'M-1',
      extensions: { [SEQUENCE_EXTENSION]: '7' },
    });

    expect(headers).toEqual({
      ce_specversion: '1.0',
      ce_id: 'e-1',
      ce_source: '/machine-bridge/factories/F%201%2F%C3%A4',
      ce_type: 'machine.state.changed.v1',
      ce_time: '2025-11-20T23:06:40Z',
      ce_subject: 'M-1',
      ce_sequence: '7',
      'content-type': 'application/json',
    });
  });

  it('can name a factory whose id is broken text', () => {
    expect(factorySource('\ud800')).toBe('/machine-bridge/factories/%EF%BF%BD');
  });
});

describe('event ids', () => {
  it('give the same state change the same id, and every other one another', () => {
    const id = stateChangeId('M-1', 1763680000, 'IDLE', 0);

    expect(stateChangeId('M-1', 1763680000, 'IDLE', 0)).toBe(id);
    expect(id).toMatch(/^[0-9a-f]{64}$/);
    const others = [
      stateChangeId('M-2', 1763680000, 'IDLE', 0),
      stateChangeId('M-1', 1763680001, 'IDLE', 0),
      stateChangeId('M-1', 1763680000, 'OFF', 0),
      stateChangeId('M-1', 1763680000, 'IDLE', 1),
    ];
    expect(new Set([id, ...others]).size).toBe(5);
  });

  it('are of an outcome what they have always been: the hash of a list in JSON', () => {
    const text = fc.string({ unit: anyCharacter });
    const place = fc.record({ topic: text, partition: fc.nat(), offset: fc.maxSafeNat() });
    const types = fc.constantFrom(...Object.values(OUTCOME_TYPES));
    const orderIds = fc.option(text, { nil: undefined });
    fc.assert(
      fc.property(place, fc.option(text), types, orderIds, (source, machineId, type, orderId) => {
        const parts = [source.topic, source.partition, source.offset, machineId, type];
        if (orderId !== undefined) parts.push(orderId);
        const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
        expect(outcomeId(source, machineId, type, orderId)).toBe(hash);
      }),
    );
  });
});
