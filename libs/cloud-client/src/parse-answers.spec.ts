import { AnswerField, MalformedField } from '#libs/http-calls';
import {
  parseActivityLog,
  parseClassificationReasons,
  parseMachineInfo,
  parseMachineState,
  readDisplayName,
} from './parse-answers.js';

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

function malformedField(parse: (answer: AnswerField) => unknown, json: unknown): string {
  try {
    parse(new AnswerField(json));
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
  const read = (json: unknown) => parseMachineInfo(new AnswerField(json));
  const parse = (json: unknown): unknown => read(json).entries;

  it.each<[string, object, object]>([
    ['without a display name by its ID', { machineDisplayName: null }, { displayName: 'M-1' }],
    ['without the name of the factory', { factoryName: null }, { factoryName: '' }],
    ['with a structured name of the factory', { factoryName: { en: 'North' } }, {}],
    ['with a number for that', { factoryName: 7 }, { factoryName: '7' }],
    [
      'with numbers for IDs',
      { machineUniqueId: 17, factoryId: 3 },
      { machineId: '17', factoryId: '3' },
    ],
  ])('takes a machine %s, in a bare list and in one under machines', (_, sent, expected) => {
    const info = { ...INFO, ...sent };
    for (const json of [[info], { machines: [info] }]) {
      expect(parse(json)).toEqual([{ ...machine, ...expected }]);
    }
  });

  it.each([
    [null, '[1] is null, expected an object', []],
    [[], '[1] is a list, expected an object', []],
    ['M-2', '[1] is of type string, expected an object', []],
    [{ ...INFO, machineUniqueId: undefined }, '[1].machineUniqueId is absent', []],
    [{ ...INFO, machineUniqueId: '' }, '[1].machineUniqueId is of type string', []],
    [{ ...INFO, machineUniqueId: {} }, '[1].machineUniqueId is of type object', []],
    [{ ...INFO, machineUniqueId: 2 ** 53 }, '[1].machineUniqueId is of type number', []],
    [{ ...INFO, machineUniqueId: 'M'.repeat(1001) }, '[1].machineUniqueId is of type string', []],
    [{ ...INFO, machineUniqueId: 'M-\ud800' }, '[1].machineUniqueId is of type string', []],
    [{ ...INFO, factoryId: 'F'.repeat(1001) }, '[1].factoryId is of type string', ['M-1']],
    [{ ...INFO, factoryId: '\udc00F' }, '[1].factoryId is of type string', ['M-1']],
    [{ ...INFO, machineUniqueId: 'M-2', factoryId: null }, '[1].factoryId is absent', ['M-2']],
  ])('leaves %j out, and it alone', (incomplete, why, ids) => {
    const other = { ...INFO, machineUniqueId: 'M-3' };
    const { entries, incomplete: left } = read([INFO, incomplete, null, other]);
    expect(entries).toEqual([machine, { ...machine, machineId: 'M-3' }]);
    expect(left).toEqual({ count: 2, why: expect.stringContaining(why) as string, ids });
  });

  it('reports nothing if all entries are complete', () => {
    expect(read([INFO])).toEqual({ entries: [machine] });
    expect(read([])).toEqual({ entries: [] });
  });

  it.each([
    [null, 'body'],
    ['text', 'body'],
    [{}, 'machines'],
    [{ machines: {} }, 'machines'],
    [[null, []], '[0]'],
    [[{ ...INFO, machineUniqueId: undefined }], '[0].machineUniqueId'],
    [{ machines: [{ ...INFO, machineUniqueId: {} }] }, 'machines[0].machineUniqueId'],
    [[{ ...INFO, factoryId: null }], '[0].factoryId'],
  ])('refuses %j as a whole, naming %s', (json, field) => {
    expect(malformedField(parseMachineInfo, json)).toBe(field);
  });
});

describe('parseMachineState', () => {
  const reading = { state: 'IDLE', durationInMinutes: 4, lastUpdateTime: 1763680000 };
  const parse = (json: unknown): unknown => parseMachineState(new AnswerField(json));

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
  const entry = { startTime: 1763680000, endTime: 1763680600, state: 'OFF' };
  const read = (json: unknown) => parseActivityLog(new AnswerField(json));
  const parse = (json: unknown): unknown => read(json).entries;

  it('reads a bare list and a list under activity', () => {
    expect(parse([ENTRY, ENTRY])).toEqual([entry, entry]);
    expect(parse({ activity: [ENTRY] })).toEqual([entry]);
    expect(parse([])).toEqual([]);
  });

  it('calculates a missing end of a period from its duration', () => {
    expect(parse([{ ...ENTRY, endTime: null }])).toEqual([entry]);
    expect(parse([{ ...ENTRY, durationInMinutes: null }])).toEqual([entry]);
  });

  it.each([
    [7, '[1]'],
    [{ ...ENTRY, startTime: {} }, '[1].startTime'],
    [{ ...ENTRY, endTime: ENTRY.startTime - 1 }, '[1].endTime'],
    [{ ...ENTRY, endTime: null, durationInMinutes: null }, '[1].durationInMinutes'],
    [{ ...ENTRY, machineState: 'SETUP' }, '[1].machineState'],
  ])('leaves %j out, and it alone, naming %s', (odd, field) => {
    const { entries, incomplete } = read([ENTRY, odd, ENTRY]);
    expect(entries).toEqual([entry, entry]);
    expect(incomplete).toEqual({
      count: 1,
      why: expect.stringContaining(`${field} is `) as string,
      ids: [],
    });
  });

  it.each([
    [{ log: [] }, 'activity'],
    [{ activity: [{ ...ENTRY, machineState: 'off' }] }, 'activity[0].machineState'],
  ])('refuses %j, naming %s', (json, field) => {
    expect(malformedField(parseActivityLog, json)).toBe(field);
  });
});

describe('parseClassificationReasons', () => {
  const read = (json: unknown) => parseClassificationReasons(new AnswerField(json));
  const parse = (json: unknown): unknown => read(json).entries;

  it('reads a list under reasons and a bare list', () => {
    expect(parse({ reasons: [REASON] })).toEqual([REASON]);
    expect(parse([REASON])).toEqual([REASON]);
  });

  it('uses the code of a reason as its missing name', () => {
    expect(parse({ reasons: [{ code: 22 }] })).toEqual([{ name: '22', code: '22' }]);
    expect(parse([{ ...REASON, name: {} }])).toEqual([{ name: '22', code: '22' }]);
  });

  it('leaves out only a reason without a code, or with one of more than 1,000 characters', () => {
    const [longest, longer] = [1000, 1001].map((length) => ({
      ...REASON,
      code: '2'.repeat(length),
    }));
    expect(read({ reasons: [{ name: 'No code' }, REASON, null, longest, longer] })).toEqual({
      entries: [REASON, longest],
      incomplete: {
        count: 3,
        why: 'reasons[0].code is absent, expected a non-empty string',
        ids: [],
      },
    });
  });

  it.each([
    [{ reasons: 'none' }, 'reasons'],
    [{ reasons: [{ name: 'No code' }, null] }, 'reasons[0].code'],
  ])('refuses %j as a whole, naming %s', (json, field) => {
    expect(malformedField(parseClassificationReasons, json)).toBe(field);
  });
});

describe('readDisplayName', () => {
  it.each([
    ['a plain string', 'Mill 1', 'Mill 1'],
    ['a name in English among others', { de: 'Fräse 1', en: 'Mill 1' }, 'Mill 1'],
    ['a name field', { id: 'x', name: 'Mill 1' }, 'Mill 1'],
    ['a value field', { lang: 'en', value: 'Mill 1' }, 'Mill 1'],
    ['a displayName field', { key: 'k', displayName: 'Mill 1' }, 'Mill 1'],
    ['the first text of an unknown structure', { a: 1, fi: 'Jyrsin 1', sv: 'Fräs 1' }, 'Jyrsin 1'],
    ['a name inside a wrapper', { translations: { en: 'Mill 1' } }, 'Mill 1'],
    ['another name when the likely one is blank', { en: ' ', de: 'Fräse 1' }, 'Fräse 1'],
    ['another name when the likely one is half a character', ['\ud83d', 'Mill 1'], 'Mill 1'],
    ['whole characters only', '\udd27 Mill \ud83d\udd27 1\ud83d', ' Mill \u{1F527} 1'],
  ])('takes %s', (_case, name, expected) => {
    expect(readDisplayName(name)).toBe(expected);
  });

  it.each([undefined, null, '', '  ', 7, {}, [], { en: 7 }])('finds no name in %j', (name) => {
    expect(readDisplayName(name)).toBeUndefined();
  });

  it('cuts a name to the length that records allow, but no character in half', () => {
    const name = `${'Mill '.repeat(199)}Mill`;
    expect(readDisplayName({ en: `${name}\u{1F527}${'x'.repeat(1e6)}` })).toBe(name);
  });

  it('does not follow a structure that is nested too deeply', () => {
    let nested: object = { en: 'deep' };
    for (let depth = 0; depth < 100_000; depth += 1) nested = { nested };
    expect(readDisplayName(nested)).toBeUndefined();
  });
});
