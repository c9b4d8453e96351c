import { readMessages } from '../../test/read-messages.js';

const read = (body: string) => readMessages(body, { recordedAt: 17 });
const operationsIn = (body: string) => read(body).flatMap(({ order }) => order.operations ?? []);

const equipment = (id: string): string =>
  `<EquipmentRequirement><EquipmentID>${id}</EquipmentID></EquipmentRequirement>`;
const level = (element: string, id: string, name: string, below = ''): string =>
  `<${element}><EquipmentID>${id}</EquipmentID><EquipmentElementLevel>${name}</EquipmentElementLevel>` +
  `${below}</${element}>`;

/** As it is nested up to V06, and as it is in V0701. */
const RELEASES = [['SegmentRequirement'], ['SegmentRequirementChild']];

describe('segments within segments of B2MML', () => {
  const segments = (nested: string, more = ''): string =>
    `<OperationsRequest><ID>1</ID><SegmentRequirement><ID>10</ID>${equipment('PACK')}` +
    `<${nested}><ID>20</ID>${more}${equipment('MILL')}` +
    `<${nested}><ID>30</ID>${equipment('SAW')}</${nested}></${nested}>` +
    '</SegmentRequirement></OperationsRequest>';

  it.each(RELEASES)('are operations at any depth: %s', (nested) => {
    expect(operationsIn(segments(nested))).toMatchObject([
      { operationId: '10', workCentre: 'PACK' },
      { operationId: '20', workCentre: 'MILL' },
      { operationId: '30', workCentre: 'SAW' },
    ]);
  });

  it.each(RELEASES)('are held to the same rules: %s', (nested) => {
    const state = '<SegmentState>Nonsense</SegmentState>';

    expect(() => read(segments(nested, state))).toThrow('SegmentState is none of B2MML');
    expect(() => read(segments(nested, '<ID>21</ID>'))).toThrow('/ID is given twice');
  });

  it('are read in JSON, in any case of letters', () => {
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

  it('name the place where it asks for a class of equipment', () => {
    const mills = child(id('MILL-1')) + child(child(id('MILL-2')));

    expect(placesIn(`<EquipmentClassID>Mill</EquipmentClassID>${mills}`)).toEqual([
      'MILL-1',
      'MILL-2',
    ]);
  });

  it('are parts of the place where it names one itself', () => {
    expect(placesIn(id('MILL-1') + child(id('GRIPPER-2')))).toEqual(['MILL-1']);
  });

  it('stand below its site', () => {
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
  it('are looked through for job orders, and stand above those', () => {
    const order = `<JobOrder><ID>1</ID>${equipment('MILL')}</JobOrder>`;
    const site = level('HierarchyScope', 'North', 'Site');
    const request = `<WorkRequest><WorkRequestChild>${order}</WorkRequestChild></WorkRequest>`;
    const held = `<WorkScheduleChild><ScheduleState>Held</ScheduleState>${request}</WorkScheduleChild>`;

    expect(read(`<WorkSchedule>${site}${held}</WorkSchedule>`)).toMatchObject([
      { order: { status: 'held', operations: [{ workCentre: 'MILL', plant: 'North' }] } },
    ]);
  });
});

describe('a B2MML document that is made to take long', () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, index) => equipment(`${index}`)).join('');
  /** Of CPU: other programs must not count. */
  const msOf = (act: () => unknown): number => {
    const before = process.cpuUsage();
    act();
    return process.cpuUsage(before).user / 1000;
  };

  it('may have a scope of many levels at each of many, above thousands of places', () => {
    let document = `<JobOrder><ID>1</ID>${many(9000)}</JobOrder>`;
    for (let above = 59; above > 0; above -= 1) {
      let scope = '';
      for (let below = 60 - above; below > 0; below -= 1) {
        scope = `<HierarchyScope><EquipmentID>E</EquipmentID>${scope}</HierarchyScope>`;
      }
      const name = above === 1 ? 'WorkSchedule' : 'W';
      document = `<${name}>${scope}${document}</${name}>`;
    }
    expect(msOf(() => read(document))).toBeLessThan(1000);
  });

  it('is rejected where the ids of a kind of work are given by the thousand, and it is done at as many places', () => {
    const named = Array.from({ length: 4000 }, (_, index) => {
      const id = index === 0 ? 'MILL/5999' : `MILL#${index + 1}/5999`;
      return `<SegmentRequirement><ID>${id}</ID>${equipment('A')}</SegmentRequirement>`;
    });
    const unnamed = `<SegmentRequirement><ProcessSegmentID>MILL</ProcessSegmentID>${many(6000)}`;
    const document =
      `<ProductionRequest><ID>1</ID>${named.join('')}${unnamed}</SegmentRequirement>` +
      '</ProductionRequest>';
    const rejecting = (): void => {
      expect(() => read(document)).toThrow('/ProductionRequest/SegmentRequirement: too many');
    };
    expect(msOf(rejecting)).toBeLessThan(1000);
  });
});
