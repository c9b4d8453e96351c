import { realNowMs } from '#libs/clock';
import { Breaker } from '#libs/delivery';
import { describeFailure, type Failure } from '../../machine-directory/index.js';

/** Calls of one operation, each for one machine: while it answers nobody, it is called now and then. */
export class MachineCalls {
  private readonly breaker = new Breaker();
  private probing: string | undefined;

  /** Returns whether the machine may be asked for now; each call is followed by one of {@link end}. */
  begin(machineId: string): boolean {
    if (!this.breaker.admits(realNowMs())) return false;
    if (this.breaker.callBegins()) this.probing = machineId;
    return true;
  }

  end(machineId: string): void {
    if (this.probing !== machineId) return;
    this.probing = undefined;
    this.breaker.probeWasVoid();
  }

  /** Returns whether that ended a pause. */
  answered(): boolean {
    return this.breaker.succeeded();
  }

  /** Returns whether that began a pause. */
  failed(machineId: string, failure: Failure): boolean {
    if (failure.kind === 'rejected') {
      // The operation works: it is this machine that it has nothing to say of.
      this.answered();
      return false;
    }
    const isProbe = this.probing === machineId;
    if (isProbe) this.probing = undefined;
    const retryAfterMs = failure.kind === 'retry' ? (failure.afterMs ?? 0) : 0;
    const cause = failure.kind === 'retry' ? 'service' : 'forbidden';
    const alone = { machineId, busyMachines: 0, inCompany: false };
    const why = describeFailure(failure);
    return this.breaker.failed({ ...alone, cause, why, isProbe, retryAfterMs }, realNowMs());
  }
}
