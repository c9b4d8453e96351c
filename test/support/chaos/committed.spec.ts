import { commandId, type CommandKind } from './commands.js';
import { firstUncommitted } from './committed.js';

describe('the first uncommitted command of each machine', () => {
  const input = (kind: CommandKind, machineId: string, number: number, place: [number, number]) => {
    const id = commandId({ kind, machineId, number });
    const [partition, offset] = place;
    const headers = { 'message-id': Buffer.from(id) };
    return { topic: '', partition, offset, key: null, value: null, headers };
  };
  const inputs = [
    input('reason', 'A', 0, [0, 0]),
    input('reason', 'B', 0, [0, 1]),
    input('reason', 'A', 1, [0, 2]),
    input('reason', 'C', 0, [1, 0]),
    input('list', 'A', 0, [0, 0]),
  ];

  it('is at the committed offset of its partition or after it', () => {
    const offsets = { list: new Map(), reason: new Map([[0, 1]]) };
    expect(firstUncommitted(inputs, 'reason', offsets)).toEqual(
      new Map([
        ['B', 0],
        ['A', 1],
        ['C', 0],
      ]),
    );
    expect(firstUncommitted(inputs, 'list', offsets)).toEqual(new Map([['A', 0]]));
  });
});
