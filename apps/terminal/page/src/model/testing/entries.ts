import type { Entry, Tile } from '../../../../src/api/index.js';
import type { OutgoingReason } from '../outgoing.js';

/** An open-ended reason that waits to be sent, made 100 s after its stop began. */
export const REASON: OutgoingReason = {
  ...{ kind: 'reason', id: 'e-1', machineId: 'M-1', machineName: 'M-1' },
  ...{ reasonId: '13', reasonName: 'Set-up', overOperating: false, batchId: 'b-0', operator: null },
  stop: { startTime: 600, endTime: null, state: 'IDLE' },
  ...{ startTime: 600, endTime: null, madeAt: 700 },
  ...{ status: 'waiting', sendAfterMs: 10_000, tried: false },
  ...{ code: null, detail: null, settledAtMs: null },
};

/** The same entry at the server. */
export const ENTRY: Entry = {
  ...{ entryId: 'e-1', machineId: 'M-1', reasonId: '13', startTime: 600, endTime: null },
  ...{ station: 'S', operator: null, sentAt: 700, appliedAt: null, status: 'sent', moved: false },
  ...{ code: null, detail: null, source: { topic: 't', partition: 0, offset: '1' } },
};

export const TILE: Tile = {
  ...{ machineId: 'M-1', displayName: 'M-1', factoryId: 'F-1', state: 'IDLE', startTime: 0 },
  ...{ observation: 'ok', knownUntil: 0, workingOrders: null, openStops: [] },
  ...{ shortStops: { count: 0, seconds: 0 }, goingOn: null },
};
