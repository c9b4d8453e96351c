import { readMessages } from '../../test/read-messages.js';

const PLACE = { EquipmentRequirement: { EquipmentID: 'FR01' } };
const read = (body: string) => readMessages(body, { recordedAt: 1 });
const job = (fields: object, schedule: object = {}): string =>
  JSON.stringify({ WorkSchedule: { ...schedule, JobOrder: { ID: 'JO-1', ...PLACE, ...fields } } });
const equipment = (EquipmentID: unknown): object => ({ EquipmentRequirement: { EquipmentID } });

describe('B2MML in JSON', () => {
  it.each([
    ['an ID', job({ ID: 7 }), 'JobOrder/ID must be text, not a number'],
    ['equipment', job(equipment(4711)), 'EquipmentID must be text, not a number'],
    [
      'one of several equipments',
      job(equipment(['FR01', 4711])),
      'EquipmentID[2] must be text, not a number',
    ],
    ['the value of an object', job(equipment({ value: 4711 })), 'EquipmentID must be text, not a'],
    ['a list in a list', job(equipment([['FR01']])), 'EquipmentID must be text, not an array'],
    ['other fields', job(equipment({ id: 'FR01' })), 'EquipmentID must be text, not an object'],
    ['a state', job({ DispatchStatus: 0 }), 'JobOrder/DispatchStatus must be text, not a number'],
    ['a command', job({ Command: true }), 'JobOrder/Command must be text, not a boolean'],
    ['a start', job({ StartTime: 1710914400 }), 'JobOrder/StartTime must be text, not a number'],
    ['a date', job({}, { publishedDate: 1 }), '/WorkSchedule/PublishedDate must be text, not a'],
    ['a state above', job({}, { ScheduleState: 2 }), '/WorkSchedule/ScheduleState must be text'],
    [
      'the site',
      job({}, { HierarchyScope: { EquipmentID: 1000, EquipmentElementLevel: 'Site' } }),
      '/WorkSchedule/HierarchyScope/EquipmentID must be text, not a number',
    ],
    [
      'a level of equipment',
      job({ EquipmentRequirement: { EquipmentID: 'FR01', EquipmentLevel: 4 } }),
      'EquipmentLevel must be text, not a number',
    ],
    [
      'an action',
      JSON.stringify({
        SyncWorkSchedule: {
          DataArea: {
            Sync: { ActionCriteria: { ActionExpression: { actionCode: 3 } } },
            WorkSchedule: { JobOrder: { ID: 'JO-1', ...PLACE } },
          },
        },
      }),
      'ActionExpression/actionCode must be text, not a number',
    ],
  ])('is refused where text is something else: %s', (_name, body, complaint) => {
    expect(() => read(body)).toThrow(complaint);
  });

  it.each([
    ['equipment', { EquipmentRequirement: 'FR01' }, 'JobOrder/EquipmentRequirement'],
    ['one of several', { EquipmentRequirement: [{ EquipmentID: 'A' }, 7] }, 'Requirement[2]'],
  ])('is refused where elements are something else: %s', (_name, fields, path) => {
    expect(() => read(job(fields))).toThrow(`${path} must hold elements`);
  });

  it('may name a place for people, which says nothing of equipment', () => {
    expect(read(job({ HierarchyScope: 'North', Location: 'Hall 3' }))).toHaveLength(1);
  });

  it.each([[null], [''], [{}], [[]], [{ value: null }], [{ '@schemeID': 'x' }], [{ $: { a: 1 } }]])(
    'takes %j for a state that is absent',
    (state) => {
      expect(read(job({ DispatchStatus: state }))[0]?.order.status).toBe('released');
    },
  );

  it('minds no fields but those that it reads', () => {
    const further = { Priority: 5, JobOrderParameter: [{ ID: 7 }, { ID: 7 }], StartTime: null };

    expect(read(job(further, { ID: 9, WorkType: true }))).toHaveLength(1);
  });

  it('cancels by the ID, whatever else it says', () => {
    const body = `{"CancelWorkSchedule":${job({ DispatchStatus: 0 })}}`;

    expect(read(body)[0]?.order.status).toBe('cancelled');
    expect(() => read(body.replace('"JO-1"', '1'))).toThrow('ID must be text, not a number');
  });
});

describe('B2MML in XML', () => {
  it.each([
    ['<DispatchStatus><value>Held</value></DispatchStatus>', 'JobOrder/DispatchStatus'],
    [
      '<EquipmentRequirement><EquipmentID><value>M1</value></EquipmentID></EquipmentRequirement>',
      'JobOrder/EquipmentRequirement[1]/EquipmentID',
    ],
  ])('is refused where text is in elements of its own: %s', (field, path) => {
    const place = '<EquipmentRequirement><EquipmentID>M2</EquipmentID></EquipmentRequirement>';
    const body = `<JobOrder><ID>JO-1</ID>${field}${place}</JobOrder>`;
    expect(() => read(body)).toThrow(`${path} must be text, not elements`);
  });

  const state = '<DispatchStatus>Cancelled</DispatchStatus>';
  const place = '<EquipmentRequirement><EquipmentID>FR01</EquipmentID></EquipmentRequirement>';
  const order = (fields: string): string => `<JobOrder><ID>JO-1</ID>${fields}${place}</JobOrder>`;
  const level = '<EquipmentLevel>ControlModule</EquipmentLevel>';
  const published = '<PublishedDate>2024-03-18T09:15:02Z</PublishedDate>';
  const scope = '<HierarchyScope><EquipmentID>N</EquipmentID></HierarchyScope>';
  const area = `<ApplicationArea/>`;

  it.each([
    ['ID', order('<ID>JO-1</ID>')],
    ['DispatchStatus', order(state + state)],
    ['HierarchyScope', order(scope + scope)],
    ['EquipmentLevel', order('').replace('</EquipmentID>', `</EquipmentID>${level}${level}`)],
    ['PublishedDate', `<WorkSchedule>${published}${published}${order('')}</WorkSchedule>`],
    ['ApplicationArea', `<SyncWorkSchedule>${area}${area}${order('')}</SyncWorkSchedule>`],
  ])('is refused where %s is given twice', (field, body) => {
    expect(() => read(body)).toThrow(
      new RegExp(`^invalid-message: B2MML schedules and job orders: /.*/${field} is given twice$`),
    );
  });

  it('may require equipment as often as it likes', () => {
    const [message] = read(order(place.replace('</EquipmentID>', '</EquipmentID><EquipmentID/>')));

    expect(message?.order.operations).toMatchObject([{ workCentre: 'FR01' }]);
  });
});
