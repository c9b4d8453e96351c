import { readLocalTime } from './local-time.js';

const DAY = { year: 2023, month: 12, day: 4 };

describe('a date and time of SAP', () => {
  it.each([
    ['20231204', '164653', { ...DAY, hour: 16, minute: 46, second: 53 }],
    ['2023-12-04', '16:46:53', { ...DAY, hour: 16, minute: 46, second: 53 }],
    ['20231204', undefined, { ...DAY, hour: 0, minute: 0, second: 0 }],
    ['20231204', '240000', { ...DAY, hour: 24, minute: 0, second: 0 }],
  ])('%s %s is read', (date, time, expected) => {
    expect(readLocalTime(date, time)).toEqual(expected);
  });

  it.each([
    ['00000000', '000000'],
    ['0000-00-00', '120000'],
    [undefined, '120000'],
    ['', undefined],
    ['99991231', '235959'],
    ['0001-01-01', '00:00:00'],
  ])('%s %s is absent', (date, time) => {
    expect(readLocalTime(date, time)).toBe('absent');
  });

  it.each([
    ['20230229', '120000'],
    ['20231304', '120000'],
    ['20231204', '240001'],
    ['20231204', '126000'],
    ['20231204', '12'],
    ['tomorrow', '120000'],
  ])('%s %s is invalid', (date, time) => {
    expect(readLocalTime(date, time)).toBe('invalid');
  });
});
