import { type BatchLimits, ListBatch, type QueuedList } from './list-batch.js';
import { type Conduct, suspicionAfter } from './suspicion.js';

const MAX_IDLE_SUSPECTS = 10_000;

interface MachineState<T> {
  waiting: QueuedList<T> | undefined;
  inFlight: boolean;
  /** Real milliseconds before which it is not sent again. */
  notBeforeMs: number;
  /** How often in a row a batch with it went wrong: each time halves the company it may keep. */
  suspicion: number;
}

/**
 * The lists that wait for the service, at most one a machine: a newer one takes the place of an older
 * one that has not been sent yet. Lists of different machines leave together in batches; a machine
 * whose batches go wrong leaves in ever smaller company, until it is alone and no longer costs
 * anybody else. Pure: knows neither time nor the service.
 */
export class ListQueue<T> {
  private readonly machines = new Map<string, MachineState<T>>();
  /** Machines that may have something to send, in the order they came to wait. */
  private readonly ready = new Set<string>();

  /** Machines with nothing to send that are remembered for what their last calls were like. */
  private readonly idleSuspects = new Set<string>();

  constructor(private readonly limits: BatchLimits) {}

  /** Lists that wait, whether they may be sent now or not. */
  get waiting(): number {
    return this.ready.size;
  }

  /** Machines known at all: busy ones and suspects. */
  get size(): number {
    return this.machines.size;
  }

  /** Machines with a list waiting or under way; counted when asked. */
  get busyMachines(): number {
    let count = 0;
    for (const { waiting, inFlight } of this.machines.values()) {
      if (waiting !== undefined || inFlight) count += 1;
    }
    return count;
  }

  /** The list of a machine that has not been sent yet. */
  waitingOf(machineId: string): QueuedList<T> | undefined {
    return this.machines.get(machineId)?.waiting;
  }

  /** Whether {@link take} would hand out anything. */
  isReady(nowMs: number): boolean {
    for (const machineId of this.ready) {
      const machine = this.machines.get(machineId);
      if (machine !== undefined && !machine.inFlight && machine.notBeforeMs <= nowMs) return true;
    }
    return false;
  }

  /** Takes a list; returns the older one it supersedes, if one was still waiting. */
  offer(list: QueuedList<T>): QueuedList<T> | undefined {
    const machine = this.machineOf(list.machineId);
    const superseded = machine.waiting;
    machine.waiting = list;
    this.ready.add(list.machineId);
    return superseded;
  }

  /**
   * The next lists to send in one request, oldest first, of machines that have none under way; their
   * machines are then in flight until {@link settle} or {@link retry}. Empty when nothing may be sent.
   */
  take(nowMs: number): QueuedList<T>[] {
    const batch = new ListBatch<T>(this.limits);
    for (const machineId of this.ready) {
      const machine = this.machines.get(machineId);
      const list = machine?.waiting;
      if (machine === undefined || list === undefined) continue;
      if (machine.inFlight || machine.notBeforeMs > nowMs) continue;
      const admission = batch.admit(list, machine.suspicion);
      if (admission === 'full') break;
      if (admission === 'not with these') continue;
      machine.inFlight = true;
      machine.waiting = undefined;
      this.ready.delete(machineId);
    }
    return batch.lists;
  }

  /** The list is done with, applied or refused. */
  settle({ machineId }: QueuedList<T>, conduct: Conduct): void {
    const machine = this.machines.get(machineId);
    if (machine === undefined) return;
    machine.inFlight = false;
    machine.notBeforeMs = 0;
    machine.suspicion = suspicionAfter(machine.suspicion, conduct);
    if (machine.waiting !== undefined) return;
    this.machines.delete(machineId);
    if (machine.suspicion > 0) this.remember(machineId, machine);
  }

  /**
   * The list has to be sent again, not before `notBeforeMs`. Returns it when a newer one has come
   * meanwhile: it is superseded, and the newer one inherits the wait.
   */
  retry(list: QueuedList<T>, notBeforeMs: number, conduct: Conduct): QueuedList<T> | undefined {
    const machine = this.machineOf(list.machineId);
    machine.inFlight = false;
    machine.notBeforeMs = notBeforeMs;
    if (conduct !== 'fine') machine.suspicion = suspicionAfter(machine.suspicion, conduct);
    if (machine.waiting !== undefined) return list;
    machine.waiting = list;
    this.ready.add(list.machineId);
    return undefined;
  }

  /** When the earliest list that may not be sent yet may be; undefined when none waits for that. */
  nextRetryMs(nowMs: number): number | undefined {
    let next: number | undefined;
    for (const machineId of this.ready) {
      const machine = this.machines.get(machineId);
      if (machine === undefined || machine.inFlight || machine.notBeforeMs <= nowMs) continue;
      next = Math.min(next ?? Infinity, machine.notBeforeMs);
    }
    return next;
  }

  /** As the youngest; messages may name machines without end that only the service knows to be none. */
  private remember(machineId: string, suspect: MachineState<T>): void {
    this.machines.set(machineId, suspect);
    this.idleSuspects.delete(machineId);
    this.idleSuspects.add(machineId);
    const [oldest] = this.idleSuspects;
    if (this.idleSuspects.size <= MAX_IDLE_SUSPECTS || oldest === undefined) return;
    this.idleSuspects.delete(oldest);
    this.machines.delete(oldest);
  }

  private machineOf(machineId: string): MachineState<T> {
    this.idleSuspects.delete(machineId);
    const known = this.machines.get(machineId);
    if (known !== undefined) return known;
    const machine = { waiting: undefined, inFlight: false, notBeforeMs: 0, suspicion: 0 };
    this.machines.set(machineId, machine);
    return machine;
  }
}
