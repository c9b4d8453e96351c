import { Injectable } from '@nestjs/common';

export interface WorkOrderList {
  workingOrders: readonly string[];
  /** Epoch seconds; null before the first list. */
  setAt: number | null;
}

const NEVER_SET: WorkOrderList = { workingOrders: [], setAt: null };

/** The latest work order list of each machine. */
@Injectable()
export class WorkOrderLists {
  private readonly byMachine = new Map<string, WorkOrderList>();

  setList(machineId: string, workingOrders: readonly string[], setAt: number): void {
    this.byMachine.set(machineId, { workingOrders, setAt });
  }

  listOf(machineId: string): WorkOrderList {
    return this.byMachine.get(machineId) ?? NEVER_SET;
  }
}
