import type { OrderMessage } from '#libs/contracts';
import { epochSeconds, fixture, readMessages } from '../../test/read-messages.js';

const PUBLISHED = epochSeconds('2024-03-18T09:15:02Z');
const required = (...ids: string[]): string =>
  `<EquipmentRequirement>${ids.map((id) => `<EquipmentID>${id}</EquipmentID>`).join('')}</EquipmentRequirement>`;
const EQUIPMENT = required('MILL-4');
const jobOrder = (fields: string): string => `<JobOrder><ID>JO-1</ID>${fields}</JobOrder>`;
const envelope = (verb: string, fields = EQUIPMENT, criteria = ''): string =>
  `<${verb}WorkSchedule><ApplicationArea><CreationDateTime>2024-03-18T09:15:02Z</CreationDateTime>` +
  `</ApplicationArea><DataArea><${verb}>${criteria}</${verb}><WorkSchedule>${jobOrder(fields)}` +
  `</WorkSchedule></DataArea></${verb}WorkSchedule>`;
const read = (body: string, recordedAt = PUBLISHED): OrderMessage => {
  const [message] = readMessages(body, { recordedAt, timeZone: 'Europe/Berlin' });
  if (message === undefined) throw new Error('no message');
  return message;
};

describe('a production schedule of V04', () => {
  it('yields each of its requests, in local time of the plant', () => {
    const body = fixture('b2mml-v04-production-schedule.xml');
    const segment = { plant: 'North', plannedStart: epochSeconds('2024-03-20T06:00:00+01:00') };

    expect(readMessages(body, { timeZone: 'Europe/Berlin' })).toEqual([
      {
        kind: 'snapshot',
        order: {
          orderId: 'PR-100',
          changedAt: PUBLISHED,
          status: 'released',
          operations: [
            {
              operationId: '005',
              workCentre: 'SAW-1',
              plant: 'North',
              status: 'started',
              plannedStart: epochSeconds('2024-03-20T06:30:00+01:00'),
            },
            { ...segment, operationId: '010/MILL-4', workCentre: 'MILL-4', status: 'released' },
            { ...segment, operationId: '010/MILL-5', workCentre: 'MILL-5', status: 'released' },
          ],
        },
      },
      { kind: 'change', order: { orderId: 'PR-101', changedAt: PUBLISHED, status: 'held' } },
    ]);
  });
});

describe('a work schedule of V07', () => {
  const text = fixture('b2mml-v07-sync-work-schedule.xml').toString();
  const place = (id: string) => ({ operationId: id, workCentre: id, plant: 'North' });
  const start = epochSeconds('2024-03-20T06:00:00Z');
  const first = { ...place('MILL-4'), status: 'started', plannedStart: start };
  const second = { ...place('LATHE-2'), status: 'released' };
  const order = (id: string, status: string) => ({ orderId: id, changedAt: PUBLISHED, status });

  it.each([
    ['XML', text],
    ['JSON', fixture('b2mml-v07-sync-work-schedule.json')],
    ['a SOAP envelope', `<s:Envelope><s:Body>${text}</s:Body></s:Envelope>`],
  ])('yields its job orders in %s, and nothing of others', (_name, body) => {
    expect(readMessages(body)).toEqual([
      { kind: 'snapshot', order: { ...order('JO-1', 'started'), operations: [first] } },
      { kind: 'snapshot', order: { ...order('JO-2', 'released'), operations: [second] } },
      { kind: 'change', order: order('JO-3', 'cancelled') },
    ]);
  });
});

describe('a job order', () => {
  it.each([
    ['DispatchStatus', 'Running', 'started'],
    ['DispatchStatus', 'Canceled', 'cancelled'],
    ['DispatchStatus', 'Other', 'released'],
    ['Command', 'Reset', 'released'],
    ['Command', 'Other', 'released'],
  ])('with %s %s is %s', (field, value, status) => {
    const { order } = read(jobOrder(`<${field}>${value}</${field}>${EQUIPMENT}`));

    expect(order).toMatchObject({ status, operations: [{ status }] });
  });

  it.each([
    [
      'its own',
      jobOrder(`<DispatchStatus>Runing</DispatchStatus>${EQUIPMENT}`),
      'JobOrder/DispatchStatus',
    ],
    [
      'that of its schedule',
      `<WorkSchedule><ScheduleState>Draft</ScheduleState>${jobOrder(EQUIPMENT)}</WorkSchedule>`,
      '/WorkSchedule/ScheduleState',
    ],
    [
      'that of a segment',
      '<ProductionRequest><ID>1</ID><SegmentRequirement><ID>10</ID><SegmentState>Done</SegmentState>' +
        `${EQUIPMENT}</SegmentRequirement></ProductionRequest>`,
      '/ProductionRequest/SegmentRequirement/SegmentState',
    ],
    ['its command', jobOrder(`<Command>Cancel</Command>${EQUIPMENT}`), '/JobOrder/Command'],
  ])('is refused with a state that nothing is known of: %s', (_name, body, path) => {
    expect(() => read(body)).toThrow(`${path} is none of B2MML`);
  });

  it('has the status of its state, not of a command beside it', () => {
    const fields = '<Command>Start</Command><DispatchStatus>Held</DispatchStatus>';

    expect(read(jobOrder(fields)).order.status).toBe('held');
  });

  it.each([
    ['is the root', jobOrder(EQUIPMENT)],
    ['is in a list', `<JobList>${jobOrder(EQUIPMENT)}</JobList>`],
    [
      'is the root of JSON',
      '{"JobOrder":{"ID":"JO-1","EquipmentRequirement":{"EquipmentID":"M"}}}',
    ],
    ['is in JSON', '{"JobOrder":[{"ID":"JO-1","EquipmentRequirement":[{"EquipmentID":"M"}]}]}'],
  ])('is found where it %s', (_name, body) => {
    expect(read(body)).toMatchObject({ kind: 'snapshot', order: { orderId: 'JO-1' } });
  });

  it('without a date of its sender has the time of its record', () => {
    expect(read(jobOrder(EQUIPMENT), 17).order.changedAt).toBe(17);
    expect(() => readMessages(jobOrder(EQUIPMENT))).toThrow(
      'invalid-message: B2MML schedules and job orders: /JobOrder/ApplicationArea/CreationDateTime is missing',
    );
  });
});

describe('the segments of a request', () => {
  const segment = (fields: string): string => `<SegmentRequirement>${fields}</SegmentRequirement>`;
  const mill = (content: string): string =>
    segment(`<ProcessSegmentID>MILL</ProcessSegmentID>${content}`);
  const request = (...segments: string[]): string =>
    `<ProductionRequest><ID>P1</ID>${segments.join('')}</ProductionRequest>`;
  const idsIn = (...segments: string[]): string[] =>
    read(request(...segments)).order.operations?.map(({ operationId }) => operationId) ?? [];

  it('are numbered where several of a kind have no id', () => {
    const { order } = read(request(...['M1', 'M2', 'M1'].map((id) => mill(required(id)))));

    expect(order.operations).toMatchObject([
      { operationId: 'MILL', workCentre: 'M1' },
      { operationId: 'MILL#2', workCentre: 'M2' },
      { operationId: 'MILL#3', workCentre: 'M1' },
    ]);
  });

  it('are numbered around the ids that others have', () => {
    const named = (id: string): string => segment(`<ID>${id}</ID>${required('M3')}`);
    const segments = [mill(required('M1')), mill(required('M2')), named('MILL'), named('MILL#3')];

    expect(idsIn(...segments)).toEqual(['MILL#2', 'MILL#4', 'MILL', 'MILL#3']);
    expect(() => read(request(named('MILL'), named('MILL')))).toThrow('repeats operationId MILL');
  });

  it('are numbered with all of their places', () => {
    const segments = [mill(required('M1', 'M2')), mill(required('M2', 'M3'))];
    const named = segment(`<ID>MILL/M1</ID>${required('M3')}`);

    expect(idsIn(...segments)).toEqual(['MILL/M1', 'MILL/M2', 'MILL#2/M2', 'MILL#2/M3']);
    expect(idsIn(...segments.slice(0, 1), named)).toEqual(['MILL#2/M1', 'MILL#2/M2', 'MILL/M1']);
  });

  it('are operations only where they have a place', () => {
    expect(idsIn(mill(''), mill(required('M1')))).toEqual(['MILL']);
    expect(idsIn(mill(required('M1', 'M2')), mill(required('M1')))).toEqual([
      'MILL/M1',
      'MILL/M2',
      'MILL#2',
    ]);
  });
});

describe('the equipment of a job order', () => {
  it.each([
    ['required twice, is one place', required('M1') + required('M1'), ['M1']],
    ['named twice in a requirement, is one place', required('M1', 'M1'), ['M1']],
    ['in one requirement, is all read', required('M1', '', 'M2'), ['M1', 'M2']],
    [
      'in several requirements, is all read',
      required('M1', 'M2') + required('M3', 'M1'),
      ['M1', 'M2', 'M3'],
    ],
  ])('%s', (_name, fields, places) => {
    expect(read(jobOrder(fields)).order.operations).toMatchObject(
      places.map((workCentre) => ({ operationId: workCentre, workCentre })),
    );
  });
});

describe('a time of a job order', () => {
  const startOf = (time: string): number | undefined =>
    read(jobOrder(`<StartTime>${time}</StartTime>${EQUIPMENT}`)).order.operations?.[0]
      ?.plannedStart;

  it.each([
    ['2024-03-20T06:00:00', '2024-03-20T06:00:00+01:00'],
    ['2024-03-20T06:00:00.123456789Z', '2024-03-20T06:00:00Z'],
    ['2024-03-20T24:00:00', '2024-03-21T00:00:00+01:00'],
    ['2024-03-20T24:00:00Z', '2024-03-21T00:00:00Z'],
    ['2024-12-31T24:00:00.000-05:00', '2025-01-01T00:00:00-05:00'],
  ])('%s is %s', (time, rfc3339) => {
    expect(startOf(time)).toBe(epochSeconds(rfc3339));
  });

  it.each([
    '0001-01-01T00:00:00',
    '0001-01-01T00:00:00.0000000Z',
    '0000-00-00T00:00:00',
    '9999-12-31T23:59:59.9999999+01:00',
  ])('%s is none', (time) => {
    expect(startOf(time)).toBeUndefined();
  });

  it.each(['2024-03-20', '2024-03-20T24:00:01Z', '2024-03-20T06:00:00 Z', '1710914400'])(
    '%s is refused',
    (time) => {
      expect(() => startOf(time)).toThrow('/JobOrder/StartTime is no xs:dateTime');
    },
  );

  it('that is unset leaves the order to the next field for its date', () => {
    const unset = '<PublishedDate>0001-01-01T00:00:00</PublishedDate>';

    expect(read(jobOrder(unset + EQUIPMENT), 17).order.changedAt).toBe(17);
  });
});

describe('a schedule without an offset, in the hour that the clock shows twice', () => {
  it.each(['2024-10-27T02:10:07+02:00', '2024-10-27T02:10:07+01:00'])(
    'was published in the hour of its record: %s',
    (recorded) => {
      const recordedAt = epochSeconds(recorded);
      const published = '<PublishedDate>2024-10-27T02:10:05</PublishedDate>';
      const start = '<StartTime>2024-10-27T02:30:00</StartTime>';
      const { order } = read(jobOrder(published + start + EQUIPMENT), recordedAt);
      expect(order.changedAt).toBe(recordedAt - 2);
      const plannedStart = epochSeconds('2024-10-27T02:30:00+02:00');
      expect(order.operations).toMatchObject([{ plannedStart }]);
    },
  );
});

describe('equipment whose level makes it part of a machine', () => {
  const module = 'EquipmentModule';

  it.each([
    ['as text', module],
    ['as an element', `<EquipmentElementLevel>${module}</EquipmentElementLevel>`],
    ['as an element of V07', `<EquipmentLevel>${module}</EquipmentLevel>`],
  ])('is no place: %s', (_name, level) => {
    const gripper =
      '<EquipmentRequirement><EquipmentID>GRIPPER-2</EquipmentID>' +
      `<EquipmentLevel>${level}</EquipmentLevel></EquipmentRequirement>`;

    expect(read(jobOrder(EQUIPMENT + gripper)).order.operations).toMatchObject([
      { workCentre: 'MILL-4' },
    ]);
  });
});

describe('the verb of an envelope', () => {
  const criteria = (code: string): string =>
    `<ActionCriteria><ActionExpression actionCode="${code}"/></ActionCriteria>`;

  it.each([
    ['Process', 'Add', 'snapshot'],
    ['Sync', 'Replace', 'snapshot'],
    ['Sync', 'Change', 'change'],
    ['Show', '', 'snapshot'],
    ['Change', '', 'change'],
  ])('%s with action %j makes a %s', (verb, code, kind) => {
    const { order, ...message } = read(envelope(verb, EQUIPMENT, criteria(code)));

    expect(message.kind).toBe(kind);
    expect(order.operations).toMatchObject([{ operationId: 'MILL-4' }]);
  });

  it.each([
    ['Cancel', ''],
    ['Sync', 'Delete'],
  ])('%s with action %j cancels', (verb, code) => {
    expect(read(envelope(verb, EQUIPMENT, criteria(code)))).toEqual({
      kind: 'change',
      order: { orderId: 'JO-1', changedAt: PUBLISHED, status: 'cancelled' },
    });
  });

  const json = (root: string, verb: string, action?: object): string => {
    const equipmentRequirement = [{ equipmentID: [{ value: 'M1' }] }];
    const workSchedule = { jobOrder: [{ id: 'JO-1', equipmentRequirement }] };
    const body = action && { actionCriteria: [{ actionExpression: [action] }] };
    return JSON.stringify({ [root]: { dataArea: { [verb]: body ?? {}, workSchedule } } });
  };

  it.each([
    ['syncWorkSchedule', 'sync', undefined, 'snapshot', undefined],
    ['changeWorkSchedule', 'change', undefined, 'change', undefined],
    ['CHANGEWORKSCHEDULE', 'change', undefined, 'change', undefined],
    ['cancelWorkSchedule', 'cancel', undefined, 'change', 'cancelled'],
    ['CancelWorkSchedule', 'cancel', undefined, 'change', 'cancelled'],
    ['cancelworkschedule', 'Cancel', undefined, 'change', 'cancelled'],
    ['syncWorkSchedule', 'sync', { '@actionCode': 'Delete' }, 'change', 'cancelled'],
    ['SyncWorkSchedule', 'sync', { actionCode: 'delete' }, 'change', 'cancelled'],
    ['syncWorkSchedule', 'Sync', { ActionCode: 'Delete' }, 'change', 'cancelled'],
    ['SyncWorkSchedule', 'Sync', { '@_actionCode': 'Delete' }, 'change', 'cancelled'],
    ['SyncWorkSchedule', 'Sync', { $: { actionCode: 'Delete' } }, 'change', 'cancelled'],
    ['syncWorkSchedule', 'sync', { '@actionCode': 'Change' }, 'change', undefined],
    ['cancelledJobOrderList', 'cancelled', undefined, 'snapshot', 'released'],
  ])('%s in JSON, its %s with %j, makes a %s', (root, verb, action, kind, status) => {
    const message = read(json(root, verb, action));

    expect(message.kind).toBe(kind);
    if (status !== undefined) expect(message.order.status).toBe(status);
  });

  const expression = (code: string, path = ''): string =>
    `<ActionExpression actionCode="${code}">${path}</ActionExpression>`;
  const both = '</ID></JobOrder><JobOrder><ID>JO-2</ID>';

  it.each([
    ['Sync', expression('Add') + expression('Delete'), '[2]/actionCode is another'],
    ['Sync', expression('Change') + expression('Add'), '[2]/actionCode is another'],
    ['Sync', expression('Delete', '//JobOrder[2]'), ' deletes a part of what is sent'],
    ['Sync', expression('Delete', '//JobOrder/SegmentRequirement'), ' deletes a part'],
    ['Sync', expression('Delete', '//b:JobOrder[1]/b:EquipmentRequirement'), ' deletes a part'],
    ['Cancel', expression('', "/WorkSchedule/JobOrder[ID='JO-1']"), ' deletes a part'],
    ['Cancel', expression('Delete', '//JobOrder/SegmentRequirement'), ' deletes a part'],
  ])('%s is refused with actions for parts of the message: %s', (verb, actions, complaint) => {
    const body = envelope(verb, EQUIPMENT, `<ActionCriteria>${actions}</ActionCriteria>`);

    expect(() => read(body.replace('</ID>', both))).toThrow(
      `invalid-message: B2MML schedules and job orders: /${verb}WorkSchedule/DataArea/${verb}/ActionCriteria/ActionExpression${complaint}`,
    );
  });

  it.each([
    ['Add', 'Replace', 'snapshot'],
    ['Delete', 'Delete', 'change'],
    ['Change', 'Update', 'change'],
  ])('may say %s and %s', (one, other, kind) => {
    const all = expression(one, '//JobOrder[1]') + expression(other, '/WorkSchedule/JobOrder');

    expect(read(envelope('Sync', EQUIPMENT, `<ActionCriteria>${all}</ActionCriteria>`)).kind).toBe(
      kind,
    );
  });

  const response = (...codes: string[]): string =>
    `<ResponseCriteria>${codes.map((code) => `<ResponseExpression actionCode="${code}"/>`).join('')}</ResponseCriteria>`;

  it.each([['Accepted'], ['Modified'], ['']])('Respond that is %j yields orders', (code) => {
    expect(read(envelope('Respond', EQUIPMENT, response(code))).kind).toBe('snapshot');
  });

  it('Respond that rejects yields no order', () => {
    const refusal = '/RespondWorkSchedule asks, answers or rejects';
    const responseExpression = [{ '@actionCode': 'Rejected' }];
    const respond = { responseCriteria: [{ responseExpression }] };
    const workSchedule = { jobOrder: [{ id: 'JO-1', dispatchStatus: 'Running' }] };
    const inJson = { RespondWorkSchedule: { dataArea: { respond, workSchedule } } };

    expect(() => read(envelope('Respond', EQUIPMENT, response('Rejected')))).toThrow(refusal);
    expect(() => read(JSON.stringify(inJson))).toThrow(refusal);
    expect(() => read(envelope('Respond', EQUIPMENT, response('Accepted', 'Rejected')))).toThrow(
      'ResponseExpression[2]/actionCode is another action than the first',
    );
  });

  it.each(['Get', 'Acknowledge', 'Confirm'])('%s yields no order', (verb) => {
    expect(() => read(envelope(verb))).toThrow(`/${verb}WorkSchedule asks, answers or rejects`);
  });
});

describe('B2MML', () => {
  const schedule = (content: string): string => `<WorkSchedule>${content}</WorkSchedule>`;

  it.each([
    ['an ID', '<JobOrder/>', '/JobOrder/ID is missing'],
    [
      'an ID in the second of two',
      schedule(jobOrder(EQUIPMENT) + '<JobOrder/>'),
      '/WorkSchedule/JobOrder[2]/ID is missing',
    ],
    [
      'equipment and a status',
      jobOrder(''),
      '/JobOrder/EquipmentRequirement/EquipmentID is missing',
    ],
    [
      'a time that exists',
      jobOrder(`<StartTime>2024-02-30T06:00:00</StartTime>${EQUIPMENT}`),
      '/JobOrder/StartTime is no xs:dateTime',
    ],
    ['orders', schedule('<ID>1</ID>'), '/WorkSchedule has no request and no job order'],
    [
      'the ID of a segment',
      `<ProductionRequest><ID>1</ID><SegmentRequirement>${EQUIPMENT}</SegmentRequirement></ProductionRequest>`,
      '/ProductionRequest/SegmentRequirement/ID is missing',
    ],
  ])('is refused without %s', (_name, body, complaint) => {
    expect(() => read(body)).toThrow(
      `invalid-message: B2MML schedules and job orders: ${complaint}`,
    );
  });
});

const PLACE = { EquipmentRequirement: { EquipmentID: 'FR01' } };
const readAll = (body: string) => readMessages(body, { recordedAt: 1 });
const job = (fields: object, schedule: object = {}): string =>
  JSON.stringify({ WorkSchedule: { ...schedule, JobOrder: { ID: 'JO-1', ...PLACE, ...fields } } });
const placedAt = (EquipmentID: unknown): object => ({ EquipmentRequirement: { EquipmentID } });

describe('B2MML in JSON', () => {
  it.each([
    ['an ID', job({ ID: 7 }), 'JobOrder/ID must be text, not a number'],
    ['equipment', job(placedAt(4711)), 'EquipmentID must be text, not a number'],
    [
      'one of several equipments',
      job(placedAt(['FR01', 4711])),
      'EquipmentID[2] must be text, not a number',
    ],
    ['the value of an object', job(placedAt({ value: 4711 })), 'EquipmentID must be text, not a'],
    ['a list in a list', job(placedAt([['FR01']])), 'EquipmentID must be text, not an array'],
    ['other fields', job(placedAt({ id: 'FR01' })), 'EquipmentID must be text, not an object'],
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
    expect(() => readAll(body)).toThrow(complaint);
  });

  it.each([
    ['equipment', { EquipmentRequirement: 'FR01' }, 'JobOrder/EquipmentRequirement'],
    ['one of several', { EquipmentRequirement: [{ EquipmentID: 'A' }, 7] }, 'Requirement[2]'],
  ])('is refused where elements are something else: %s', (_name, fields, path) => {
    expect(() => readAll(job(fields))).toThrow(`${path} must hold elements`);
  });

  it('may have a display name for a place, which identifies no equipment', () => {
    expect(readAll(job({ HierarchyScope: 'North', Location: 'Hall 3' }))).toHaveLength(1);
  });

  it.each([[null], [''], [{}], [[]], [{ value: null }], [{ '@schemeID': 'x' }], [{ $: { a: 1 } }]])(
    'treats %j as an absent state',
    (state) => {
      expect(readAll(job({ DispatchStatus: state }))[0]?.order.status).toBe('released');
    },
  );

  it('checks only the fields that it reads', () => {
    const further = { Priority: 5, JobOrderParameter: [{ ID: 7 }, { ID: 7 }], StartTime: null };

    expect(readAll(job(further, { ID: 9, WorkType: true }))).toHaveLength(1);
  });

  it('cancels by the ID, also with other fields invalid', () => {
    const body = `{"CancelWorkSchedule":${job({ DispatchStatus: 0 })}}`;

    expect(readAll(body)[0]?.order.status).toBe('cancelled');
    expect(() => readAll(body.replace('"JO-1"', '1'))).toThrow('ID must be text, not a number');
  });
});

describe('B2MML in XML', () => {
  it.each([
    ['<DispatchStatus><value>Held</value></DispatchStatus>', 'JobOrder/DispatchStatus'],
    [required('<value>M1</value>'), 'JobOrder/EquipmentRequirement[1]/EquipmentID'],
  ])('is refused where text is in elements of its own: %s', (field, path) => {
    expect(() => readAll(jobOrder(field + required('M2')))).toThrow(
      `${path} must be text, not elements`,
    );
  });

  const state = '<DispatchStatus>Cancelled</DispatchStatus>';
  const place = required('FR01');
  const order = (fields: string): string => jobOrder(fields + place);
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
    expect(() => readAll(body)).toThrow(
      new RegExp(`^invalid-message: B2MML schedules and job orders: /.*/${field} is given twice$`),
    );
  });
});

const operationsIn = (body: string) => readAll(body).flatMap(({ order }) => order.operations ?? []);

const level = (element: string, id: string, name: string, below = ''): string =>
  `<${element}><EquipmentID>${id}</EquipmentID><EquipmentElementLevel>${name}</EquipmentElementLevel>` +
  `${below}</${element}>`;

/** Nesting up to V06, and in V0701. */
const RELEASES = [['SegmentRequirement'], ['SegmentRequirementChild']];

describe('segments within segments of B2MML', () => {
  const segments = (nested: string, more = ''): string =>
    `<OperationsRequest><ID>1</ID><SegmentRequirement><ID>10</ID>${required('PACK')}` +
    `<${nested}><ID>20</ID>${more}${required('MILL')}` +
    `<${nested}><ID>30</ID>${required('SAW')}</${nested}></${nested}>` +
    '</SegmentRequirement></OperationsRequest>';

  it.each(RELEASES)('are operations at any depth: %s', (nested) => {
    expect(operationsIn(segments(nested))).toMatchObject([
      { operationId: '10', workCentre: 'PACK' },
      { operationId: '20', workCentre: 'MILL' },
      { operationId: '30', workCentre: 'SAW' },
    ]);
  });

  it.each(RELEASES)('are checked by the same rules: %s', (nested) => {
    const state = '<SegmentState>Nonsense</SegmentState>';

    expect(() => readAll(segments(nested, state))).toThrow('SegmentState is none of B2MML');
    expect(() => readAll(segments(nested, '<ID>21</ID>'))).toThrow('/ID is given twice');
  });

  it('are read in JSON, in any case', () => {
    const place = (id: string) => ({ equipmentRequirement: [{ equipmentID: [id] }] });
    const child = { id: '20', ...place('MILL') };
    const segment = { id: '10', ...place('PACK'), segmentRequirementChild: [child] };
    const body = JSON.stringify({ operationsRequest: { id: '1', segmentRequirement: [segment] } });

    expect(operationsIn(body).map(({ operationId }) => operationId)).toEqual(['10', '20']);
  });
});

describe('the levels of a hierarchy scope of B2MML', () => {
  it.each([['HierarchyScope'], ['HierarchyScopeChild']])('are nested in %s', (nested) => {
    const place = level(nested, 'LATHE-2', 'WorkUnit');
    const site = level(nested, 'North', 'Site', level(nested, 'Hall 3', 'Area', place));
    const scope = level('HierarchyScope', 'Acme', 'Enterprise', site);

    expect(operationsIn(`<JobOrder><ID>1</ID>${scope}</JobOrder>`)).toMatchObject([
      { workCentre: 'LATHE-2', plant: 'North' },
    ]);
  });
});

describe('equipment requirements within one of B2MML', () => {
  const required = (content: string): string =>
    `<JobOrder><ID>1</ID><EquipmentRequirement>${content}</EquipmentRequirement></JobOrder>`;
  const child = (content: string): string =>
    `<EquipmentRequirementChild>${content}</EquipmentRequirementChild>`;
  const id = (name: string): string => `<EquipmentID>${name}</EquipmentID>`;
  const placesIn = (content: string) =>
    operationsIn(required(content)).map(({ workCentre }) => workCentre);

  it('name the place where the outer one requires a class', () => {
    const mills = child(id('MILL-1')) + child(child(id('MILL-2')));

    expect(placesIn(`<EquipmentClassID>Mill</EquipmentClassID>${mills}`)).toEqual([
      'MILL-1',
      'MILL-2',
    ]);
  });

  it('are parts of the place where the outer one names it', () => {
    expect(placesIn(id('MILL-1') + child(id('GRIPPER-2')))).toEqual(['MILL-1']);
  });

  it('have its site', () => {
    const site = level('HierarchyScope', 'North', 'Site');

    expect(operationsIn(required(site + child(id('MILL-1'))))).toMatchObject([{ plant: 'North' }]);
  });

  it('are read in JSON', () => {
    const equipmentRequirement = [{ equipmentRequirementChild: [{ equipmentID: ['MILL-1'] }] }];

    expect(
      operationsIn(JSON.stringify({ jobOrder: { id: '1', equipmentRequirement } })),
    ).toMatchObject([{ workCentre: 'MILL-1' }]);
  });
});

describe('schedules and requests within their like', () => {
  it('are searched for job orders, and count as above those', () => {
    const order = jobOrder(required('MILL'));
    const site = level('HierarchyScope', 'North', 'Site');
    const request = `<WorkRequest><WorkRequestChild>${order}</WorkRequestChild></WorkRequest>`;
    const held = `<WorkScheduleChild><ScheduleState>Held</ScheduleState>${request}</WorkScheduleChild>`;

    expect(readAll(`<WorkSchedule>${site}${held}</WorkSchedule>`)).toMatchObject([
      { order: { status: 'held', operations: [{ workCentre: 'MILL', plant: 'North' }] } },
    ]);
  });
});

describe('a B2MML document that is made to take long', () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, index) => required(`${index}`)).join('');
  /** CPU time, so that other programs do not count. */
  const msOf = (act: () => unknown): number => {
    const before = process.cpuUsage();
    act();
    return process.cpuUsage(before).user / 1000;
  };

  it('may have deep scopes at many nested levels above thousands of places', () => {
    let document = `<JobOrder><ID>1</ID>${many(9000)}</JobOrder>`;
    for (let above = 59; above > 0; above -= 1) {
      let scope = '';
      for (let below = 60 - above; below > 0; below -= 1) {
        scope = `<HierarchyScope><EquipmentID>E</EquipmentID>${scope}</HierarchyScope>`;
      }
      const name = above === 1 ? 'WorkSchedule' : 'W';
      document = `<${name}>${scope}${document}</${name}>`;
    }
    expect(msOf(() => readAll(document))).toBeLessThan(2500);
  });

  it('is rejected with thousands of the ids of a kind of work at thousands of places', () => {
    const named = Array.from({ length: 4000 }, (_, index) => {
      const id = index === 0 ? 'MILL/5999' : `MILL#${index + 1}/5999`;
      return `<SegmentRequirement><ID>${id}</ID>${required('A')}</SegmentRequirement>`;
    });
    const unnamed = `<SegmentRequirement><ProcessSegmentID>MILL</ProcessSegmentID>${many(6000)}`;
    const document =
      `<ProductionRequest><ID>1</ID>${named.join('')}${unnamed}</SegmentRequirement>` +
      '</ProductionRequest>';
    const rejecting = (): void => {
      expect(() => readAll(document)).toThrow('/ProductionRequest/SegmentRequirement: too many');
    };
    expect(msOf(rejecting)).toBeLessThan(2500);
  });
});
