import { Injectable, Logger } from '@nestjs/common';
import { describeFailure, type Failure } from '../../machine-directory/index.js';
import { MachineCalls } from './machine-calls.js';

/**
 * Which machines' latest polls failed, and whether it is the service: while that answers nobody, it is
 * asked now and then. An outage is one log entry at its begin and one at its end.
 */
@Injectable()
export class PollHealth {
  private readonly logger = new Logger('MachineStates');
  private readonly calls = new MachineCalls();
  private readonly failing = new Set<string>();
  private latest: Failure | undefined;

  get failingMachines(): number {
    return this.failing.size;
  }

  /** The latest poll that failed; undefined before the first. */
  get latestFailure(): Failure | undefined {
    return this.latest;
  }

  /** Why the latest failed poll failed, in words. */
  get problem(): string {
    return this.latest === undefined ? '' : describeFailure(this.latest);
  }

  /** Returns whether the machine may be asked for now; each call is followed by one of {@link pollEnds}. */
  pollBegins(machineId: string): boolean {
    return this.calls.begin(machineId);
  }

  pollEnds(machineId: string): void {
    this.calls.end(machineId);
  }

  /** The service has said what it knows of a machine's state: it works, whatever else it fails to say. */
  answered(): void {
    this.calls.answered();
  }

  /** There is no answer to the machine's poll. */
  failed(machineId: string, failure: Failure): void {
    this.note(machineId, failure);
    const isPause = this.calls.failed(machineId, failure);
    if (isPause) this.logger.warn({ msg: 'polls pause', why: this.problem });
  }

  /** The machine's state is there, but waits for its log. */
  waitsForLog(machineId: string, failure: Failure): void {
    this.note(machineId, failure);
  }

  /** The machine's answer is of a time that has yet to come, in epoch seconds. */
  isAhead(machineId: string, lastUpdateTime: number): void {
    this.logger.warn({ msg: 'update time is ahead and counts as now', machineId, lastUpdateTime });
  }

  /** The machine's poll has told all that was to be told. */
  completed(machineId: string): void {
    const wasFailing = this.failing.delete(machineId);
    if (wasFailing && this.failing.size === 0) this.logger.log({ msg: 'polls are answered again' });
  }

  /** The machine is no longer polled, whatever its latest poll came to. */
  forget(machineId: string): void {
    this.failing.delete(machineId);
  }

  private note(machineId: string, failure: Failure): void {
    this.latest = failure;
    const { problem } = this;
    if (this.failing.size === 0) this.logger.warn({ msg: 'polls fail', machineId, problem });
    this.failing.add(machineId);
  }
}
