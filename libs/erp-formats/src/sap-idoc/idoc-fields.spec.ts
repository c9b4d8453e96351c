import { readSnapshots } from '../../test/read-messages.js';

const CREATED = '<CREDAT>20240318</CREDAT><CRETIM>091502</CRETIM>';
const read = (fields: string, control = CREATED) =>
  readSnapshots(
    `<LOIPRO05><IDOC><EDI_DC40>${control}</EDI_DC40><E1AFKOL><AUFNR>4711</AUFNR>${fields}</E1AFKOL>` +
      '</IDOC></LOIPRO05>',
    { recordedAt: 17 },
  );
const operation = (fields: string): string =>
  `<E1AFFLL><E1AFVOL><VORNR>0010</VORNR><ARBPL>FR01</ARBPL>${fields}</E1AFVOL></E1AFFLL>`;

describe('an IDoc', () => {
  it.each([
    ['E1AFKOL/AUFNR', '<AUFNR>4711</AUFNR>'],
    ['E1AFKOL/E1JSTKL/STAT', '<E1JSTKL><STAT>I0002</STAT><STAT>I0045</STAT></E1JSTKL>'],
    ['E1AFKOL/E1AFFLL/E1AFVOL/ARBPL', operation('<ARBPL>FR02</ARBPL>')],
    ['E1AFVOL/ARBID', operation('<ARBID>10000271</ARBID><ARBID>10000272</ARBID>')],
    [
      'E1AFFLL/E1AFVOL/E1JSTVL/STAT',
      operation('<E1JSTVL><STAT>I0002</STAT><STAT>I0002</STAT></E1JSTVL>'),
    ],
    ['E1AFVOL/E1AFUVL/UVORN', operation('<E1AFUVL><UVORN>1</UVORN><UVORN>2</UVORN></E1AFUVL>')],
  ])('is refused where %s is given twice', (path, fields) => {
    expect(() => read(fields)).toThrow(`${path} is given twice`);
  });

  it('is refused where its control record, or a field of it, is given twice', () => {
    expect(() => read('', CREATED + CREATED)).toThrow('/EDI_DC40/CREDAT is given twice');
    expect(() => read('', '</EDI_DC40><EDI_DC40>')).toThrow('/IDOC/EDI_DC40 is given twice');
  });

  it('may have a segment twice, and a field that is not read', () => {
    const statuses = '<E1JSTKL><STAT>I0002</STAT></E1JSTKL><E1JSTKL><STAT>I0045</STAT></E1JSTKL>';

    expect(read(`${statuses}<GSTRP/><GSTRP/>`)[0]?.status).toBe('completed');
  });

  it.each([
    ['an hour', CREATED.replace('091502', '996000'), 'CREDAT and CRETIM are no date and time'],
    ['a day', CREATED.replace('0318', '0230'), 'CREDAT and CRETIM are no date and time'],
  ])(
    'is refused with a time that is none, for it would count as new: %s',
    (_name, control, why) => {
      expect(() => read('', control)).toThrow(`/LOIPRO05/IDOC/EDI_DC40/${why}`);
    },
  );

  it.each([
    '<CREDAT>00000000</CREDAT><CRETIM>000000</CRETIM><SERIAL>00000000000000000000</SERIAL>',
    '<CREDAT/><CRETIM/><SERIAL/>',
    '<SERIAL>17</SERIAL>',
  ])('without a time is dated by when it was written: %s', (control) => {
    expect(read('', control)[0]?.changedAt).toBe(17);
  });
});
