import { readFileSync } from 'node:fs';
import type { OrderSnapshot } from '#libs/contracts';
import { readSnapshots } from '../../test/read-messages.js';

const SAMPLE = readFileSync('demo/sap-loipro05-order-1895938.xml');
const CONTROL = '<EDI_DC40><SERIAL>20231128083400705437</SERIAL></EDI_DC40>';
const WHERE = '<ARBPL>FR01</ARBPL>';
const OPERATION = `<E1AFVOL><VORNR>0010</VORNR>${WHERE}</E1AFVOL>`;

const read = (body: Buffer | string, contentType: string | null = null): OrderSnapshot[] =>
  readSnapshots(body, { contentType, timeZone: 'Europe/Berlin' });
const idoc = (sequences: string, header = '', control = CONTROL): string =>
  `<LOIPRO01><IDOC>${control}<E1AFKOL><AUFNR>000000004711</AUFNR><WERKS>1000</WERKS>` +
  `<E1JSTKL><STAT>I0002</STAT></E1JSTKL>${header}${sequences}</E1AFKOL></IDOC></LOIPRO01>`;
const sequence = (operations: string, number = '0'): string =>
  `<E1AFFLL><PLNFL>${number}</PLNFL>${operations}</E1AFFLL>`;
const statuses = (...codes: string[]): string =>
  codes.map((code) => `<E1JSTKL><STAT>${code}</STAT></E1JSTKL>`).join('');
const readOrder = (...parts: Parameters<typeof idoc>): OrderSnapshot => read(idoc(...parts))[0]!;

describe('an order of a real S/4 system', () => {
  const operation = (operationId: string, plannedStart: string): object => ({
    operationId,
    workCentre: 'D2O_ASSY',
    plant: 'HZ001',
    status: 'released',
    plannedStart: Date.parse(plannedStart) / 1000,
  });

  it.each([[null], ['application/xml'], ['text/xml; charset=UTF-8'], ['application/idoc+xml']])(
    'is read with content type %s',
    (contentType) => {
      expect(read(SAMPLE, contentType)).toEqual([
        {
          orderId: '1895938',
          changedAt: Date.parse('2023-11-28T08:34:00Z') / 1000,
          fence: { counter: 'SERIAL of S4HCLNT100', value: '20231128083400705437' },
          status: 'released',
          operations: [
            operation('0060', '2023-12-04T16:46:53+01:00'),
            operation('0070', '2023-12-04T16:58:08+01:00'),
            operation('0080', '2023-12-04T17:43:08+01:00'),
          ],
        },
      ]);
    },
  );
});

describe('an order IDoc', () => {
  it('has a numeric order number without padding, any other unchanged', () => {
    expect(readOrder('').orderId).toBe('4711');
    const other = idoc('').replace('000000004711', '00A-1');
    expect(read(other)[0]?.orderId).toBe('00A-1');
  });

  it('has the time of CREDAT and CRETIM in the zone of the plant where SERIAL is not a time', () => {
    const control = `<EDI_DC40><SERIAL>17</SERIAL><CREDAT>20231128</CREDAT><CRETIM>093405</CRETIM></EDI_DC40>`;

    expect(readOrder('', '', control).changedAt).toBe(Date.parse('2023-11-28T08:34:05Z') / 1000);
  });

  it.each([
    ['14 digits of the plant', '20231128093405', '20231128093405'],
    ['20 digits of UTC', '20231128083405705437', '20231128083405705437'],
  ])('is dated by SERIAL with %s', (_name, serial, value) => {
    const control = `<EDI_DC40><SNDPRN>S4</SNDPRN><SERIAL>${serial}</SERIAL></EDI_DC40>`;

    expect(readOrder('', '', control)).toMatchObject({
      changedAt: Date.parse('2023-11-28T08:34:05Z') / 1000,
      fence: { counter: 'SERIAL of S4', value },
    });
  });

  it.each([
    ['SERIAL', '<SERIAL>20231128083400000001</SERIAL>', '20231128083400000001'],
    ['DOCNUM', '<CREDAT>20231128</CREDAT><SERIAL>17</SERIAL>', '0000000000430094'],
  ])('is distinguished from others of the same second by %s', (field, fields, value) => {
    const control = `<EDI_DC40><DOCNUM>0000000000430094</DOCNUM><SNDPRN>S4</SNDPRN>${fields}</EDI_DC40>`;

    expect(readOrder('', '', control).fence).toEqual({ counter: `${field} of S4`, value });
  });

  it('with only DOCNUM has the time of its record', () => {
    const body = idoc('', '', '<EDI_DC40><DOCNUM>0000000000430094</DOCNUM></EDI_DC40>');

    expect(readSnapshots(body, { recordedAt: 17 })[0]).toMatchObject({
      changedAt: 17,
      fence: { counter: 'DOCNUM of ', value: '0000000000430094' },
    });
    expect(() => read(body)).toThrow('/LOIPRO01/IDOC/EDI_DC40/SERIAL is no time');
  });

  it.each([
    ['no control record', ''],
    ['a control record without a time', '<EDI_DC40><SNDPRN>S4</SNDPRN></EDI_DC40>'],
    [
      'times of zeros alone',
      '<EDI_DC40><CREDAT>00000000</CREDAT><CRETIM>000000</CRETIM><SERIAL>00000000000000</SERIAL></EDI_DC40>',
    ],
    ['empty times', '<EDI_DC40><CREDAT/><CRETIM/><SERIAL/></EDI_DC40>'],
  ])('that has %s is dated by when it was written', (_name, control) => {
    const [order] = readSnapshots(idoc('', '', control), { recordedAt: 17 });

    expect(order).toMatchObject({ orderId: '4711', changedAt: 17 });
    expect(order).not.toHaveProperty('fence');
  });

  it.each(['SERIAL', 'DOCNUM'])('has no source sequence from zeros in %s', (field) => {
    const control = `<EDI_DC40><${field}>0000000000000000</${field}><CREDAT>20231128</CREDAT></EDI_DC40>`;

    expect(readOrder('', '', control).fence).toBeUndefined();
  });

  it('prefers the plant of an operation, and its earliest start', () => {
    const operation =
      `<E1AFVOL><VORNR>0010</VORNR>${WHERE}<WERKS>2000</WERKS><CY_SEQNRV>00000000000020</CY_SEQNRV>` +
      '<FSAVD>20231204</FSAVD><FSAVZ>240000</FSAVZ><SSAVD>20231206</SSAVD></E1AFVOL>';

    expect(readOrder(sequence(operation)).operations).toEqual([
      {
        operationId: '0010',
        workCentre: 'FR01',
        plant: '2000',
        status: 'released',
        sequence: 20,
        plannedStart: Date.parse('2023-12-05T00:00:00+01:00') / 1000,
      },
    ]);
  });

  it.each(['00000000', '99991231'])(
    'falls back to the latest start of an operation whose earliest is %s',
    (date) => {
      const operation = `<E1AFVOL><VORNR>1</VORNR>${WHERE}<FSAVD>${date}</FSAVD><SSAVD>20231206</SSAVD></E1AFVOL>`;

      const [read] = readOrder(sequence(operation)).operations;
      expect(read?.plannedStart).toBe(Date.parse('2023-12-06T00:00:00+01:00') / 1000);
    },
  );

  it.each([
    ['0', '1', ['0010', '0010/1']],
    ['1', '000000', ['0010/1', '0010']],
    ['1', '2', ['0010/1', '0010/2']],
  ])('names operations of the sequences %s and %s for those', (one, other, ids) => {
    const { operations } = readOrder(sequence(OPERATION, one) + sequence(OPERATION, other));

    expect(operations.map(({ operationId }) => operationId)).toEqual(ids);
  });

  it('may have a deleted operation beside others with its number', () => {
    const at = (place: string, status: string): string =>
      `<E1AFVOL><VORNR>0010</VORNR><ARBPL>${place}</ARBPL><E1JSTVL><STAT>${status}</STAT></E1JSTVL></E1AFVOL>`;
    const placesOf = (...operations: string[]) =>
      readOrder(sequence(operations.join(''))).operations.map(({ workCentre }) => workCentre);

    expect(placesOf(at('FR01', 'I0013'), at('FR02', 'I0002'))).toEqual(['FR02']);
    expect(placesOf(at('FR02', 'I0002'), at('FR01', 'I0013'))).toEqual(['FR02']);
    expect(placesOf(at('FR01', 'I0013'), at('FR02', 'I0013'))).toEqual(['FR01']);
  });

  it('has a sub-operation as an operation only at another work centre', () => {
    const subOperations = [
      '<E1AFUVL><UVORN>0010</UVORN><ARBPL>FR02</ARBPL><E1JSTUL><STAT>I0010</STAT></E1JSTUL></E1AFUVL>',
      '<E1AFUVL><UVORN>0020</UVORN><ARBPL>FR01</ARBPL></E1AFUVL>',
      '<E1AFUVL><UVORN>0030</UVORN></E1AFUVL>',
      '<E1AFUVL><UVORN>0040</UVORN><ARBPL>FR01</ARBPL><WERKS>2000</WERKS></E1AFUVL>',
    ].join('');
    const operation = `<E1AFVOL><VORNR>0010</VORNR>${WHERE}${subOperations}</E1AFVOL>`;

    expect(readOrder(sequence(operation)).operations).toMatchObject([
      { operationId: '0010', workCentre: 'FR01', status: 'released' },
      { operationId: '0010-0010', workCentre: 'FR02', status: 'started' },
      { operationId: '0010-0040', workCentre: 'FR01', plant: '2000' },
    ]);
  });

  it('has a sub-operation with the plant of its operation, and deletes it with that', () => {
    const sub =
      '<E1AFUVL><UVORN>1</UVORN><ARBPL>FR02</ARBPL><E1JSTUL><STAT>I0002</STAT></E1JSTUL></E1AFUVL>';
    const operation = (number: string, fields: string): string =>
      `<E1AFVOL><VORNR>${number}</VORNR>${WHERE}<WERKS>2000</WERKS>${fields}${sub}</E1AFVOL>`;
    const operations = [
      operation('10', ''),
      operation('20', '<MSGFN>003</MSGFN>'),
      operation('30', '<E1JSTVL><STAT>I0013</STAT></E1JSTVL>'),
      operation('40', '<E1JSTVL><STAT>I0009</STAT></E1JSTVL>'),
    ].join('');

    const found = readOrder(sequence(operations)).operations;
    expect(found.filter(({ workCentre }) => workCentre === 'FR02')).toMatchObject([
      { operationId: '10-1', plant: '2000', status: 'released' },
      { operationId: '20-1', plant: '2000', status: 'cancelled' },
      { operationId: '30-1', plant: '2000', status: 'cancelled' },
      { operationId: '40-1', plant: '2000', status: 'released' },
    ]);
  });

  it('has the object id of a work centre without a name', () => {
    const subOperation = (number: string, id: string): string =>
      `<E1AFUVL><UVORN>${number}</UVORN><ARBPL/><ARBID>${id}</ARBID></E1AFUVL>`;
    const subOperations = subOperation('0010', '00000272') + subOperation('0020', '10000271');
    const operation = `<E1AFVOL><VORNR>0010</VORNR><ARBID>10000271</ARBID>${subOperations}</E1AFVOL>`;
    const named = `<E1AFVOL><VORNR>0020</VORNR>${WHERE}<ARBID>10000271</ARBID></E1AFVOL>`;
    const nowhere = '<E1AFVOL><VORNR>0030</VORNR><ARBID>00000000</ARBID></E1AFVOL>';

    expect(readOrder(sequence(operation + named + nowhere)).operations).toMatchObject([
      { operationId: '0010', workCentre: '10000271' },
      { operationId: '0010-0010', workCentre: '00000272' },
      { operationId: '0020', workCentre: 'FR01' },
    ]);
  });

  it('leaves out operations without a work centre', () => {
    const external =
      '<E1AFVOL><VORNR>0020</VORNR><ARBPL> </ARBPL><STEUS>PP02</STEUS><FSAVD>?</FSAVD>' +
      '<E1AFUVL><UVORN>0010</UVORN><ARBPL>FR02</ARBPL></E1AFUVL><E1AFUVL/></E1AFVOL>';

    expect(readOrder(sequence(OPERATION + external)).operations).toMatchObject([
      { operationId: '0010', workCentre: 'FR01' },
      { operationId: '0020-0010', workCentre: 'FR02' },
    ]);
    expect(readOrder(sequence('<E1AFVOL><VORNR>0010</VORNR></E1AFVOL>')).operations).toEqual([]);
  });

  it.each([
    ['locked and technically completed', statuses('I0043', 'I0045'), 'completed'],
    ['closed, with a deletion flag', statuses('I0045', 'I0046', 'I0076'), 'cancelled'],
    ['locked', statuses('I0043', 'I0340'), 'held'],
    ['deleted', '<MSGFN>003</MSGFN>', 'cancelled'],
  ])('that is %s takes its operations along', (_name, header, status) => {
    const order = readOrder(sequence(OPERATION), header);

    expect([order.status, order.operations[0]?.status]).toEqual([status, status]);
  });

  it('cancels an operation that was deleted', () => {
    const operation = `<E1AFVOL><MSGFN>003</MSGFN><VORNR>0010</VORNR>${WHERE}</E1AFVOL>`;

    expect(readOrder(sequence(operation)).operations[0]?.status).toBe('cancelled');
  });

  it('cancels the operations of a sequence that was deleted', () => {
    const deleted = sequence(`<MSGFN>003</MSGFN>${OPERATION}`);
    expect(readOrder(deleted).operations).toMatchObject([{ status: 'cancelled' }]);
  });

  it('is not released without a status', () => {
    const silent = idoc(sequence(OPERATION)).replace('I0002', 'I0016');

    expect(read(silent)[0]).toMatchObject({
      status: 'planned',
      operations: [{ status: 'planned' }],
    });
  });

  it('may share a document with others, each an order of its own', () => {
    const body = SAMPLE.toString().replace(
      /<IDOC[^]*<\/IDOC>/,
      (text) => text + text.replaceAll('1895938', '2'),
    );

    expect(read(body).map(({ orderId }) => orderId)).toEqual(['1895938', '2']);
  });

  it('at fault is named with its position in the document', () => {
    const body = SAMPLE.toString().replace(
      /<IDOC[^]*<\/IDOC>/,
      (text) => text + text.replace('<VORNR>0070</VORNR>', ''),
    );

    expect(() => read(body)).toThrow(
      '/LOIPRO05/IDOC[2]/E1AFKOL/E1AFFLL/E1AFVOL[2]/VORNR is missing',
    );
  });

  it.each(['LOIPRO01', 'LOIPRO02', 'LOIPRO03', 'LOIPRO04', 'LOIPRO05'])(
    'is read in the release %s, with several operations on one work centre',
    (release) => {
      const body = idoc(sequence(OPERATION + OPERATION.replace('0010', '0020')));

      expect(read(body.replaceAll('LOIPRO01', release))[0]?.operations).toMatchObject([
        { operationId: '0010', workCentre: 'FR01', plant: '1000' },
        { operationId: '0020', workCentre: 'FR01', plant: '1000' },
      ]);
    },
  );

  it('is recognised by its message type in an extended type', () => {
    const control = CONTROL.replace('<SERIAL>', '<MESTYP>LOIPRO</MESTYP><SERIAL>');
    const body = idoc('', '', control).replaceAll('LOIPRO01', 'ZPLANT_ORDER');

    expect(read(body)[0]?.orderId).toBe('4711');
  });

  it.each([
    ['AUFNR', idoc('').replace('000000004711', '000'), '/LOIPRO01/IDOC/E1AFKOL/AUFNR is missing'],
    [
      'VORNR',
      idoc(sequence(`<E1AFVOL>${WHERE}</E1AFVOL>`)),
      '/E1AFKOL/E1AFFLL/E1AFVOL/VORNR is missing',
    ],
    [
      'UVORN',
      idoc(sequence(OPERATION.replace(WHERE, `${WHERE}<E1AFUVL><ARBPL>X</ARBPL></E1AFUVL>`))),
      '/E1AFVOL/E1AFUVL/UVORN is missing',
    ],
    ['a time at all', idoc('', '', '<EDI_DC40/>'), '/IDOC/EDI_DC40/SERIAL is no time'],
    ['a control record or a time', idoc('', '', ''), '/LOIPRO01/IDOC/EDI_DC40 is missing'],
    ['an order', `<LOIPRO05><IDOC>${CONTROL}</IDOC></LOIPRO05>`, '/IDOC/E1AFKOL is missing'],
    ['an IDoc', '<LOIPRO05/>', '/IDOC/E1AFKOL is missing'],
    ['unique operations', idoc(sequence(OPERATION + OPERATION)), 'repeats operationId'],
    [
      'a start that exists',
      idoc(sequence(OPERATION.replace(WHERE, `${WHERE}<FSAVD>20231399</FSAVD>`))),
      'FSAVD',
    ],
  ])('is refused without %s', (_name, body, complaint) => {
    expect(() => read(body)).toThrow(new RegExp(`^invalid-message: .*${complaint}`));
  });
});

const CREATED = '<CREDAT>20240318</CREDAT><CRETIM>091502</CRETIM>';
const readFields = (fields: string, control = CREATED) =>
  readSnapshots(
    `<LOIPRO05><IDOC><EDI_DC40>${control}</EDI_DC40><E1AFKOL><AUFNR>4711</AUFNR>${fields}</E1AFKOL>` +
      '</IDOC></LOIPRO05>',
    { recordedAt: 17 },
  );
const operationWith = (fields: string): string =>
  `<E1AFFLL><E1AFVOL><VORNR>0010</VORNR><ARBPL>FR01</ARBPL>${fields}</E1AFVOL></E1AFFLL>`;

describe('an IDoc', () => {
  it.each([
    ['E1AFKOL/AUFNR', '<AUFNR>4711</AUFNR>'],
    ['E1AFKOL/E1JSTKL/STAT', '<E1JSTKL><STAT>I0002</STAT><STAT>I0045</STAT></E1JSTKL>'],
    ['E1AFKOL/E1AFFLL/E1AFVOL/ARBPL', operationWith('<ARBPL>FR02</ARBPL>')],
    ['E1AFVOL/ARBID', operationWith('<ARBID>10000271</ARBID><ARBID>10000272</ARBID>')],
    [
      'E1AFFLL/E1AFVOL/E1JSTVL/STAT',
      operationWith('<E1JSTVL><STAT>I0002</STAT><STAT>I0002</STAT></E1JSTVL>'),
    ],
    ['E1AFVOL/E1AFUVL/UVORN', operationWith('<E1AFUVL><UVORN>1</UVORN><UVORN>2</UVORN></E1AFUVL>')],
  ])('is refused where %s is given twice', (path, fields) => {
    expect(() => readFields(fields)).toThrow(`${path} is given twice`);
  });

  it('is refused where its control record, or a field of it, is repeated', () => {
    expect(() => readFields('', CREATED + CREATED)).toThrow('/EDI_DC40/CREDAT is given twice');
    expect(() => readFields('', '</EDI_DC40><EDI_DC40>')).toThrow('/IDOC/EDI_DC40 is given twice');
  });

  it('may repeat a segment, or a field that is not read', () => {
    const statuses = '<E1JSTKL><STAT>I0002</STAT></E1JSTKL><E1JSTKL><STAT>I0045</STAT></E1JSTKL>';

    expect(readFields(`${statuses}<GSTRP/><GSTRP/>`)[0]?.status).toBe('completed');
  });

  it.each([
    ['a minute', CREATED.replace('091502', '096000'), 'CREDAT and CRETIM are no date and time'],
    ['half a time', CREATED.replace('091502', '09'), 'CREDAT and CRETIM are no date and time'],
    ['a day', CREATED.replace('0318', '0230'), 'CREDAT and CRETIM are no date and time'],
  ])('is refused with an invalid time: %s', (_name, control, why) => {
    expect(() => readFields('', control)).toThrow(`/LOIPRO05/IDOC/EDI_DC40/${why}`);
  });
});
