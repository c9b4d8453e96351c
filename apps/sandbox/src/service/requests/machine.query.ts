import { Identifier } from './fields.js';

export class MachineQuery {
  @Identifier({ example: 'M-001' })
  machineId!: string;
}
