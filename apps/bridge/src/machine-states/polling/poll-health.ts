import { Injectable, Logger } from '@nestjs/common';

/** Which machines' latest polls failed: an outage is one log entry at its begin and one at its end. */
@Injectable()
export class PollHealth {
  private readonly logger = new Logger('MachineStates');
  private readonly failing = new Set<string>();
  private latestProblem = '';

  get failingMachines(): number {
    return this.failing.size;
  }

  /** Why the latest failed poll failed, in words. */
  get problem(): string {
    return this.latestProblem;
  }

  failed(machineId: string, problem: string): void {
    if (this.failing.size === 0) this.logger.warn({ msg: 'polls fail', machineId, problem });
    this.failing.add(machineId);
    this.latestProblem = problem;
  }

  answered(machineId: string): void {
    const wasFailing = this.failing.delete(machineId);
    if (wasFailing && this.failing.size === 0) this.logger.log({ msg: 'polls are answered again' });
  }

  /** The machine is no longer polled, whatever its latest poll came to. */
  forget(machineId: string): void {
    this.failing.delete(machineId);
  }
}
