import fc from 'fast-check';
import { readOrderDocument } from './read-orders.js';

const RUNS = 400 * Number(process.env.PROPERTY_DEPTH ?? 1);

describe('an order document', () => {
  it('never throws, whatever its values', () => {
    // fast-check's unit `binary` takes more than a second to be made
    const character = fc.nat({ max: 0xffff }).map((number) => String.fromCharCode(number));
    const key = fc.constantFrom(
      ...[
        'd',
        'results',
        'value',
        'ManufacturingOrder',
        'StatusCode',
        'WorkCenter',
        'JobOrder',
        'ID',
      ],
      ...['ManufacturingOrderOperation', 'LastChangeDateTime', 'external_work_order_id', 'status'],
      ...['WorkSchedule', 'EquipmentRequirement', 'EquipmentID', 'StartTime', 'start_time_unix_ms'],
      ...['__proto__', 'constructor', 'to_ProductionOrderOperation', 'OpErlstSchedldExecStrtDte'],
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium' },
        fc.constantFrom('1', '0010', '', '/Date(1)/', '20240318', '2024-03-18T00:00:00Z', null, 7),
        fc.string({ unit: character }),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 6 }),
      ),
    }));
    fc.assert(
      fc.property(value, (json) => {
        const body = Buffer.from(JSON.stringify(json));
        for (const recordedAt of [undefined, 1]) {
          const document = { contentType: null, body, ...(recordedAt && { recordedAt }) };
          expect(() => readOrderDocument(document, { timeZone: 'UTC' })).not.toThrow();
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('never throws when it is XML of a known format', () => {
    const name = fc.constantFrom(
      ...[
        'IDOC',
        'EDI_DC40',
        'SERIAL',
        'CREDAT',
        'DOCNUM',
        'E1AFKOL',
        'AUFNR',
        'E1AFFLL',
        'E1AFVOL',
      ],
      ...['VORNR', 'ARBPL', 'FSAVD', 'E1JSTKL', 'STAT', 'JobOrder', 'ID', 'EquipmentRequirement'],
      ...['EquipmentID', 'StartTime', 'ProductionRequest', 'SegmentRequirement', 'PublishedDate'],
    );
    const { element } = fc.letrec<{ element: string }>((tie) => ({
      element: fc
        .tuple(
          name,
          fc.oneof(
            { depthSize: 'medium' },
            fc.constantFrom(
              '1',
              '0',
              '20240318',
              '20240318091502',
              'I0002',
              '2024-03-18T00:00:00Z',
            ),
            fc.array(tie('element'), { maxLength: 4 }).map((all) => all.join('')),
          ),
        )
        .map(([tag, content]) => `<${tag}>${content}</${tag}>`),
    }));
    fc.assert(
      fc.property(fc.constantFrom('LOIPRO05', 'WorkSchedule'), element, (root, content) => {
        const body = Buffer.from(`<${root}>${content}</${root}>`);
        expect(() =>
          readOrderDocument({ contentType: null, body }, { timeZone: 'Europe/Berlin' }),
        ).not.toThrow();
      }),
      { numRuns: RUNS },
    );
  });
});
