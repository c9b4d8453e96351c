import { FieldReader, MalformedField } from './field-reader.js';
import { parseActivityLog } from './parse-activity-log.js';
import { parseClassificationReasons } from './parse-classification-reasons.js';
import { parseMachineInfo } from './parse-machine-info.js';
import { parseMachineState } from './parse-machine-state.js';

const INFO = {
  machineDisplayName: { en: 'Mill 1' },
  machineUniqueId: 'M-1',
  factoryId: 'F-1',
  factoryName: 'North',
};
const STATE = { machineState: 'IDLE', durationInMinutes: 4, astUpdateTime: 1763680000 };
const ENTRY = {
  startTime: 1763680000,
  endTime: 1763680600,
  machineState: 'OFF',
  durationInMinutes: 10,
};
const REASON = { name: 'Tool change', code: '22' };

function malformedField(parse: (answer: FieldReader) => unknown, json: unknown): string {
  try {
    parse(new FieldReader(json));
  } catch (error) {
    if (error instanceof MalformedField) return error.field;
    throw error;
  }
  return 'nothing';
}

describe('parseMachineInfo', () => {
  const machine = {
    machineId: 'M-1',
    displayName: 'Mill 1',
    factoryId: 'F-1',
    factoryName: 'North',
  };
  const parse = (json: unknown): unknown => parseMachineInfo(new FieldReader(json));

  it('reads a bare list', () => {
    expect(parse([INFO])).toEqual([machine]);
  });

  it('reads a list under machines', () => {
    expect(parse({ machines: [INFO] })).toEqual([machine]);
  });

  it('names a machine without a display name by its ID', () => {
    expect(parse([{ ...INFO, machineDisplayName: null }])).toEqual([
      { ...machine, displayName: 'M-1' },
    ]);
  });

  it('does without the name of the factory, and takes IDs sent as numbers', () => {
    expect(parse([{ ...INFO, machineUniqueId: 17, factoryId: 3, factoryName: null }])).toEqual([
      { machineId: '17', displayName: 'Mill 1', factoryId: '3', factoryName: '' },
    ]);
  });

  it.each([
    [null, 'body'],
    ['text', 'body'],
    [{}, 'machines'],
    [{ machines: {} }, 'machines'],
    [[INFO, null], '[1]'],
    [[INFO, []], '[1]'],
    [[{ ...INFO, machineUniqueId: undefined }], '[0].machineUniqueId'],
    [[{ ...INFO, machineUniqueId: '' }], '[0].machineUniqueId'],
    [{ machines: [{ ...INFO, machineUniqueId: {} }] }, 'machines[0].machineUniqueId'],
    [[{ ...INFO, factoryId: null }], '[0].factoryId'],
    [[{ ...INFO, factoryName: ['North'] }], '[0].factoryName'],
  ])('refuses %j, naming %s', (json, field) => {
    expect(malformedField(parseMachineInfo, json)).toBe(field);
  });
});

describe('parseMachineState', () => {
  const reading = { state: 'IDLE', durationInMinutes: 4, lastUpdateTime: 1763680000 };
  const parse = (json: unknown): unknown => parseMachineState(new FieldReader(json));

  it.each([
    ['as the interface spells it', STATE],
    ['with lastUpdateTime', { ...STATE, astUpdateTime: undefined, lastUpdateTime: 1763680000 }],
    ['with fractions', { ...STATE, durationInMinutes: 4.9, astUpdateTime: 1763680000.999 }],
    [
      'with numbers as strings',
      { ...STATE, durationInMinutes: '4', astUpdateTime: '1763680000.5' },
    ],
    ['with fields nobody knows', { ...STATE, colour: 'yellow' }],
  ])('reads an answer %s', (_case, json) => {
    expect(parse(json)).toEqual(reading);
  });

  it.each([
    [[STATE], 'body'],
    [{ ...STATE, machineState: 'RUNNING' }, 'machineState'],
    [{ ...STATE, machineState: 1 }, 'machineState'],
    [{ ...STATE, machineState: 'toString' }, 'machineState'],
    [{ ...STATE, durationInMinutes: -1 }, 'durationInMinutes'],
    [{ ...STATE, durationInMinutes: 'four' }, 'durationInMinutes'],
    [{ ...STATE, durationInMinutes: '' }, 'durationInMinutes'],
    [{ ...STATE, durationInMinutes: true }, 'durationInMinutes'],
    [{ ...STATE, astUpdateTime: null }, 'astUpdateTime'],
    [{ ...STATE, astUpdateTime: '2025-11-21T12:00:00Z' }, 'astUpdateTime'],
    [{ ...STATE, astUpdateTime: 1763680000000 }, 'astUpdateTime'],
  ])('refuses %j, naming %s', (json, field) => {
    expect(malformedField(parseMachineState, json)).toBe(field);
  });
});

describe('parseActivityLog', () => {
  const entry = { startTime: 1763680000, endTime: 1763680600, state: 'OFF', durationInMinutes: 10 };
  const parse = (json: unknown): unknown => parseActivityLog(new FieldReader(json));

  it('reads a bare list and a list under activity', () => {
    expect(parse([ENTRY, ENTRY])).toEqual([entry, entry]);
    expect(parse({ activity: [ENTRY] })).toEqual([entry]);
  });

  it('reads an empty log', () => {
    expect(parse([])).toEqual([]);
  });

  it.each([
    [{ log: [] }, 'activity'],
    [[ENTRY, 7], '[1]'],
    [[ENTRY, ENTRY, ENTRY, { ...ENTRY, startTime: {} }], '[3].startTime'],
    [{ activity: [{ ...ENTRY, endTime: null }] }, 'activity[0].endTime'],
    [[{ ...ENTRY, endTime: ENTRY.startTime - 1 }], '[0].endTime'],
    [[{ ...ENTRY, machineState: 'off' }], '[0].machineState'],
    [[{ ...ENTRY, durationInMinutes: [] }], '[0].durationInMinutes'],
  ])('refuses %j, naming %s', (json, field) => {
    expect(malformedField(parseActivityLog, json)).toBe(field);
  });
});

describe('parseClassificationReasons', () => {
  const parse = (json: unknown): unknown => parseClassificationReasons(new FieldReader(json));

  it('reads a list under reasons and a bare list', () => {
    expect(parse({ reasons: [REASON] })).toEqual([REASON]);
    expect(parse([REASON])).toEqual([REASON]);
  });

  it('names a reason without a name by its code', () => {
    expect(parse({ reasons: [{ code: 22 }] })).toEqual([{ name: '22', code: '22' }]);
  });

  it.each([
    [{ reasons: 'none' }, 'reasons'],
    [{ reasons: [REASON, { name: 'No code' }] }, 'reasons[1].code'],
    [{ reasons: [{ ...REASON, name: {} }] }, 'reasons[0].name'],
  ])('refuses %j, naming %s', (json, field) => {
    expect(malformedField(parseClassificationReasons, json)).toBe(field);
  });
});
