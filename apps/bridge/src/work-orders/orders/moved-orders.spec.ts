import { loadErpSettings } from '#libs/config';
import { OrderPreview } from './order-preview.js';

const equipment = (ids: readonly string[]): string =>
  ids
    .map((id) => `<EquipmentRequirement><EquipmentID>${id}</EquipmentID></EquipmentRequirement>`)
    .join('');

const jobOrder = (status: string, ...machines: string[]): string => {
  const dispatched = status && `<DispatchStatus>${status}</DispatchStatus>`;
  return `<JobOrder><ID>4711</ID>${dispatched}${equipment(machines)}</JobOrder>`;
};

const request = (...segments: string[]): string =>
  `<ProductionRequest><ID>4711</ID>${segments.join('')}</ProductionRequest>`;

const work = (identity: string, machines: readonly string[]): string =>
  `<SegmentRequirement>${identity}<SegmentState>Released</SegmentState>${equipment(machines)}</SegmentRequirement>`;

const segment = (id: string, ...machines: string[]): string => work(`<ID>${id}</ID>`, machines);

const ofKind = (kind: string, ...machines: string[]): string =>
  work(`<ProcessSegmentID>${kind}</ProcessSegmentID>`, machines);

/** The machines' lists after a whole order, and changes of it a minute apart. */
async function listsAfter(...contents: string[]): Promise<Record<string, readonly string[]>> {
  const preview = new OrderPreview(loadErpSettings({}));
  for (const [minute, content] of contents.entries()) {
    const verb = minute === 0 ? 'Sync' : 'Change';
    const body =
      `<${verb}WorkSchedule><ApplicationArea><CreationDateTime>2024-03-18T09:1${minute}:00Z` +
      `</CreationDateTime></ApplicationArea><DataArea><${verb}/><WorkSchedule>${content}` +
      `</WorkSchedule></DataArea></${verb}WorkSchedule>`;
    const taken = await preview.take({ body: Buffer.from(body), contentType: null });
    if (!taken.ok) throw new Error(taken.rejection.detail);
    expect(taken.value).toMatchObject({ rejections: [], superseded: [] });
  }
  return Object.fromEntries(preview.lists());
}

describe('a segment that a change moves', () => {
  const before = request(segment('010', 'M1'), segment('020', 'M4'));
  const onTwo = request(segment('010', 'M1', 'M2'), segment('020', 'M4'));
  const M4 = ['4711'];

  it.each([
    ['from one machine to another', before, ['M2'], { M1: [], M2: ['4711'] }],
    ['from one machine to two', before, ['M1', 'M2'], { M1: ['4711'], M2: ['4711'] }],
    ['from one to two others', before, ['M2', 'M3'], { M1: [], M2: ['4711'], M3: ['4711'] }],
    ['from two machines to one of them', onTwo, ['M2'], { M1: [], M2: ['4711'] }],
    ['from two machines to another', onTwo, ['M3'], { M1: [], M2: [], M3: ['4711'] }],
    ['to one more', onTwo, ['M2', 'M3'], { M1: [], M2: ['4711'], M3: ['4711'] }],
  ])('leaves the lists it was on: %s', async (_name, whole, machines, lists) => {
    expect(await listsAfter(whole, request(segment('010', ...machines)))).toEqual({ ...lists, M4 });
  });

  it('does so by its kind of work if it has no id, and leaves others of that kind', async () => {
    const whole = request(ofKind('MILL', 'M1', 'M2'), ofKind('MILL', 'M4'), ofKind('TURN', 'M5'));

    expect(await listsAfter(whole, request(ofKind('MILL', 'M3')))).toEqual({
      M1: [],
      M2: [],
      M3: ['4711'],
      M4: ['4711'],
      M5: ['4711'],
    });
  });
});

describe('a job order that a change moves', () => {
  const [M1, M2, M3] = [[], ['4711'], ['4711']];

  it.each(['', 'Running'])('leaves the lists it was on, with status %j', async (status) => {
    const whole = jobOrder('Ready', 'M1', 'M2');

    expect(await listsAfter(whole, jobOrder(status, 'M2', 'M3'))).toEqual({ M1, M2, M3 });
    expect(await listsAfter(whole, jobOrder('', 'M1'), jobOrder(status, 'M2', 'M3'))).toEqual({
      M1,
      M2,
      M3,
    });
  });

  it('is on no list if it was on none, whatever the order is', async () => {
    const whole = jobOrder('Pending', 'M1');
    const held = jobOrder('Held');

    expect(await listsAfter(whole, jobOrder('', 'M2'))).toEqual({ M1: [], M2: [] });
    expect(await listsAfter(whole, held, jobOrder('', 'M2'))).toEqual({ M1: [], M2: [] });
  });

  it('stays on its lists under a change that says no place', async () => {
    const whole = jobOrder('Ready', 'M1', 'M2');

    expect(await listsAfter(whole, jobOrder('Running'))).toEqual({ M1: ['4711'], M2: ['4711'] });
  });
});
