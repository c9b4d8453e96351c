import fc from 'fast-check';

import type { OrderMessage, OrderSnapshot } from '#libs/contracts';
import { applyOrderMessage } from '#libs/order-ledger';

import { epochSeconds, readMessages } from '../../test/read-messages.js';

const equipment = (ids: readonly string[]): string =>
  ids
    .map((id) => `<EquipmentRequirement><EquipmentID>${id}</EquipmentID></EquipmentRequirement>`)
    .join('');
const segment = (id: string, machines: readonly string[], more = ''): string =>
  `<SegmentRequirement><ID>${id}</ID>${more}${equipment(machines)}</SegmentRequirement>`;
const request = (...content: string[]): string =>
  `<ProductionRequest><ID>PR-1</ID>${content.join('')}</ProductionRequest>`;
const jobOrder = (machines: readonly string[], more = ''): string =>
  `<JobOrder><ID>JO-1</ID>${more}${equipment(machines)}</JobOrder>`;
const dispatched = (status: string): string => `<DispatchStatus>${status}</DispatchStatus>`;

function read(verb: string, content: string, minute = 0): OrderMessage {
  const [message] = readMessages(
    `<${verb}WorkSchedule><ApplicationArea><CreationDateTime>2024-03-18T09:1${minute}:00Z` +
      `</CreationDateTime></ApplicationArea><DataArea><${verb}/><WorkSchedule>${content}` +
      `</WorkSchedule></DataArea></${verb}WorkSchedule>`,
  );
  if (message === undefined) throw new Error('no message');
  return message;
}

function orderAfter(messages: readonly OrderMessage[]): OrderSnapshot | undefined {
  let known: OrderSnapshot | undefined;
  for (const message of messages) {
    const application = applyOrderMessage(known, message);
    if (application.kind === 'applied') known = application.order;
  }
  return known;
}

function placesAfter(messages: readonly OrderMessage[]): (string | undefined)[] {
  return (orderAfter(messages)?.operations ?? []).map(({ workCentre }) => workCentre).sort();
}

describe('a change of a request', () => {
  const changedAt = epochSeconds('2024-03-18T09:10:00Z');

  it('replaces the segments whose place it names', () => {
    const unnamed = `<SegmentRequirement><ProcessSegmentID>MILL</ProcessSegmentID>${equipment(['M3'])}`;
    const placeless = '<SegmentRequirement><ID>020</ID></SegmentRequirement>';
    const all = [segment('010', ['M1', 'M2']), placeless, `${unnamed}</SegmentRequirement>`];

    expect(read('Change', request(...all))).toEqual({
      kind: 'change',
      order: {
        orderId: 'PR-1',
        changedAt,
        operations: [
          { operationId: '010/M1', workCentre: 'M1' },
          { operationId: '010/M2', workCentre: 'M2' },
          { operationId: 'MILL', workCentre: 'M3' },
        ],
        replaces: ['010', 'MILL'],
      },
    });
  });

  it('replaces nothing if it has only a status', () => {
    expect(read('Change', request('<RequestState>Held</RequestState>'))).toEqual({
      kind: 'change',
      order: { orderId: 'PR-1', changedAt, status: 'held' },
    });
  });

  describe('whose segments have a status and no place', () => {
    const state = (id: string, status: string): string =>
      segment(id, [], `<SegmentState>${status}</SegmentState>`);
    const whole = read(
      'Sync',
      request(
        '<RequestState>Released</RequestState>',
        ...[segment('010', ['M1', 'M2']), segment('020', ['M1']), segment('03', ['M3'])],
      ),
    );
    const statusesAfter = (...segments: string[]): (string | undefined)[] => {
      const after = orderAfter([whole, read('Change', request(...segments), 1)]);
      return after!.operations.map(({ operationId, status }) => `${operationId} ${status}`);
    };

    it('applies to all places of each', () => {
      expect(statusesAfter(state('010', 'Running'), state('03', 'Completed'))).toEqual([
        ...['010/M1 started', '010/M2 started', '020 released', '03 completed'],
      ]);
    });

    it('applies only where the message has nothing else', () => {
      expect(statusesAfter('<RequestState>Running</RequestState>', state('00', 'Held'))).toEqual([
        ...['010/M1 started', '010/M2 started', '020 started', '03 started'],
      ]);
      expect(statusesAfter(segment('020', ['M4']), state('020', 'Held'))).toEqual([
        ...['010/M1 released', '010/M2 released', '020 released', '03 released'],
      ]);
    });

    it('applies the last status of a segment', () => {
      expect(statusesAfter(state('03', 'Running'), state('03', 'Held')).at(-1)).toBe('03 held');
    });

    it('does not add segments that no message has named, or that have no id', () => {
      const unnamed = '<SegmentRequirement><ProcessSegmentID>020</ProcessSegmentID>';
      const held = '<SegmentState>Held</SegmentState></SegmentRequirement>';
      expect(statusesAfter(state('0', 'Held'), state('010/M', 'Held'), unnamed + held)).toEqual([
        ...['010/M1 released', '010/M2 released', '020 released', '03 released'],
      ]);
    });

    it('is not enough for an order that no message has named', () => {
      const change = read('Change', request(state('010', 'Running')));
      expect(applyOrderMessage(undefined, change)).toEqual({ kind: 'unknown-order' });
    });
  });

  it('leaves each segment on its latest places, in any order of the messages', () => {
    const places = fc.uniqueArray(fc.constantFrom('M1', 'M2', 'M3'), { minLength: 1 });
    const changes = fc.tuple(fc.constantFrom('010', '020'), places);
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 6 }), (changed) => {
        const last = new Map([['010', ['M1']], ['020', ['M1', 'M2']], ...changed]);
        const whole = request(segment('010', ['M1']), segment('020', ['M1', 'M2']));
        const messages = changed.map(([id, machines], index) =>
          read('Change', request(segment(id, machines)), index + 1),
        );

        expect(placesAfter([read('Sync', whole), ...messages])).toEqual(
          [...last.values()].flat().sort(),
        );
      }),
      { numRuns: 50 },
    );
  });
});

describe('a change of a job order', () => {
  const changedAt = epochSeconds('2024-03-18T09:10:00Z');

  it.each([
    ['', {}, {}],
    [dispatched('Running'), { status: 'started' }, { status: 'started' }],
  ])('replaces all of its places, with %j before them', (more, ofOrder, ofOperation) => {
    expect(read('Change', jobOrder(['M2'], more))).toEqual({
      kind: 'change',
      order: {
        orderId: 'JO-1',
        changedAt,
        ...ofOrder,
        operations: [{ operationId: 'M2', workCentre: 'M2', ...ofOperation }],
        replaces: 'all',
      },
    });
  });

  it('leaves its start and its status if it has neither', () => {
    const start = '<StartTime>2024-03-20T06:00:00Z</StartTime>';
    const known = read('Sync', jobOrder(['M1'], start + dispatched('Running')));
    const rest = { status: 'started', plannedStart: epochSeconds('2024-03-20T06:00:00Z') };

    expect(orderAfter([known, read('Change', jobOrder(['M2']), 1)])).toMatchObject({
      status: 'started',
      operations: [{ operationId: 'M2', ...rest }],
    });
  });

  it('leaves its place if it names none', () => {
    const released = read('Sync', jobOrder(['M1', 'M2'], dispatched('Ready')));
    const running = read('Change', jobOrder([], dispatched('Running')), 1);

    expect(placesAfter([released, running])).toEqual(['M1', 'M2']);
  });

  it('leaves it at its latest place, in any order of the changes', () => {
    const places = fc.uniqueArray(fc.constantFrom('M1', 'M2', 'M3'), { minLength: 1 });
    const change = fc.tuple(places, fc.constantFrom('', dispatched('Ready')));
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 });
    fc.assert(
      fc.property(fc.array(change, { minLength: 6, maxLength: 6 }), order, (all, minutes) => {
        const messages = minutes.map((minute) => {
          const [machines, more] = all[minute] ?? [[]];
          return read('Change', jobOrder(machines, more), minute);
        });
        expect(placesAfter(messages)).toEqual([...(all[5]?.[0] ?? [])].sort());
      }),
      { numRuns: 30 },
    );
  });
});
