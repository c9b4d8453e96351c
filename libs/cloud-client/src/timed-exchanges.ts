import { realNowMs } from '#libs/clock';
import { type Caller } from './caller.js';
import { type CloudCall } from './cloud-client-options.js';
import { type CallEnd, TIMED_OUT, withTimeout } from './timeout.js';
import { type Exchange, type ServiceReply } from './exchange.js';
import { type Operation } from './operations.js';

/** Gives each HTTP request its deadline and reports what became of it. */
export class TimedExchanges {
  constructor(
    readonly timeoutMs: number,
    private readonly onCall?: (call: CloudCall) => void,
  ) {}

  /** @throws the reason of the caller's signal when that aborts, or the caller's objection; nothing else */
  async run(
    operation: Operation,
    caller: Caller | undefined,
    send: (end: CallEnd) => Promise<Exchange>,
  ): Promise<Exchange> {
    const startedMs = realNowMs();
    let status: CloudCall['status'] = 'aborted';
    let callEnd: CallEnd | undefined;
    try {
      const sent = await withTimeout(this.timeoutMs, caller, (end) => send((callEnd = end)));
      const exchange = sent === TIMED_OUT ? this.tooLate(callEnd?.arrived) : sent;
      status = exchange.kind === 'reply' ? exchange.status : exchange.code;
      return exchange;
    } finally {
      this.onCall?.({ operation, status, durationMs: realNowMs() - startedMs });
    }
  }

  /** What the status says counts although the body hangs: to a command it is the whole answer. */
  private tooLate(arrived: ServiceReply | undefined): Exchange {
    if (arrived === undefined) {
      const cause = { message: `no answer in ${this.timeoutMs} ms` };
      return { kind: 'failed', code: 'timeout', cause };
    }
    const cause = { message: `no whole answer in ${this.timeoutMs} ms` };
    return { ...arrived, body: '', bodyFault: { code: 'timeout', cause } };
  }
}
