import fc from 'fast-check';
import type { OrderSnapshot } from '#libs/contracts';
import { applyToOrder, type KnownOrder } from '#libs/order-ledger';
import { positionOf } from '../orders/order-ledger.js';
import type { RelayedOrder } from '../orders/order-queues.js';
import { KnownAnswers, RequestLanes, type LaneRequest } from './request-lanes.js';

const ORDERS = ['1', '2'];
const order = fc.constantFrom(...ORDERS);
const count = fc.integer({ min: 1, max: 4 });

/** The possible steps. A call is chosen among those under way. */
const aStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: fc.constant('changed' as const), order, events: fc.nat(2) },
      isVersioned: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('handed over' as const), count }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('asked' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), call: fc.nat(3) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: fc.constant('answered' as const), call: fc.nat(3) },
      fails: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('committed' as const), count }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crashed' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('written again' as const), order }) },
);
type Step = typeof aStep extends fc.Arbitrary<infer S> ? S : never;

interface Event extends LaneRequest {
  offset: number;
}

interface Call {
  event: Event;
  askedAt: number;
  /** The ERP's state when it looked, some time between request and answer. */
  seen: number | undefined;
}

interface Answer {
  askedAt: number;
  state: number;
}

/** An ERP, a queue of requests whose owner may crash, and a ledger. */
class Enrichment {
  /** The number of changes of each order in the ERP. */
  readonly erp = new Map(ORDERS.map((id) => [id, 0]));
  readonly log: Pick<Event, 'machineId' | 'version'>[] = [];
  readonly committed = new Set<number>();
  readonly ledger = new Map<string, KnownOrder>();
  private lanes = new RequestLanes<Event>();
  private known = new KnownAnswers<Answer>();
  private calls: Call[] = [];
  private ended: { offset: number; machineId: string; answer?: Answer }[] = [];
  private position = 0;
  private nowMs = 1_000_000;

  /** @param isDated answers have the time of change, in units so coarse that several changes share one */
  constructor(private readonly isDated: boolean) {}

  step(step: Step): void {
    // GETs for one order begin at different times within one second.
    this.nowMs += 1;
    switch (step.kind) {
      case 'changed': {
        const state = (this.erp.get(step.order) ?? 0) + 1;
        this.erp.set(step.order, state);
        const version = step.isVersioned ? `v${state}` : undefined;
        for (let sent = 0; sent <= step.events; sent += 1) {
          this.log.push({ machineId: step.order, version });
        }
        return;
      }
      case 'handed over':
        this.handOver(step.count);
        return;
      case 'asked':
        this.ask();
        return;
      case 'read':
        this.read(this.calls[step.call]);
        return;
      case 'answered':
        this.answer(this.calls[step.call], step.fails);
        return;
      case 'committed':
        this.commit(step.count);
        return;
      case 'crashed':
        this.lanes = new RequestLanes();
        this.known = new KnownAnswers();
        this.calls = [];
        this.ended = [];
        this.position = 0;
        return;
      case 'written again':
        for (const event of this.lanes.removeRequests((each) => each.machineId === step.order)) {
          const { offset, machineId, version } = event;
          this.ended.push({ offset, machineId });
          this.log.push({ machineId, version });
        }
        return;
      default:
        step satisfies never;
    }
  }

  finish(): void {
    while (this.committed.size < this.log.length) {
      this.nowMs += 10;
      const before = this.committed.size;
      this.handOver(Infinity);
      this.ask();
      for (const call of [...this.calls]) this.answer(call, false);
      this.commit(Infinity);
      const isStuck = this.committed.size === before && this.calls.length === 0;
      if (isStuck && this.lanes.waitingOrders === 0)
        throw new Error('nothing waits, and not all has ended');
    }
  }

  private handOver(most: number): void {
    for (let handed = 0; handed < most && this.position < this.log.length; this.position += 1) {
      const event = this.log[this.position];
      if (event === undefined || this.committed.has(this.position)) continue;
      handed += 1;
      const fresh = { failures: 0, goneSinceMs: undefined, isLost: false };
      this.add({ ...event, ...fresh, offset: this.position });
    }
  }

  private add(event: Event): void {
    const answer = this.known.get(event.machineId, event.version, this.nowMs);
    if (answer !== undefined) {
      this.ended.push({ ...event, answer });
      return;
    }
    const other = this.lanes.addRequest(event);
    if (other !== undefined) this.ended.push(other);
  }

  private ask(): void {
    for (;;) {
      const event = this.lanes.beginNext(this.nowMs);
      if (event === undefined) return;
      if (this.calls.some((call) => call.event.machineId === event.machineId)) {
        throw new Error(`two GETs for order ${event.machineId} are under way`);
      }
      this.nowMs += 1;
      this.calls.push({ event, askedAt: this.nowMs, seen: undefined });
    }
  }

  private read(call: Call | undefined): void {
    if (call !== undefined) call.seen ??= this.erp.get(call.event.machineId) ?? 0;
  }

  private answer(call: Call | undefined, fails: boolean): void {
    if (call === undefined) return;
    this.calls.splice(this.calls.indexOf(call), 1);
    const { event, askedAt } = call;
    if (fails) {
      if (this.lanes.postponeGet(event, this.nowMs + 2)) this.ended.push(event);
      return;
    }
    this.read(call);
    const answer = { askedAt, state: call.seen ?? 0 };
    if (event.version !== undefined) {
      const known = { version: event.version, answer, bytes: 1, atMs: this.nowMs };
      this.known.set(event.machineId, known);
    } else this.known.delete(event.machineId);
    this.lanes.endGet(event);
    this.ended.push({ ...event, answer });
  }

  private commit(most: number): void {
    for (const { offset, machineId, answer } of this.ended.splice(0, most)) {
      this.committed.add(offset);
      if (answer !== undefined) this.apply(machineId, answer);
    }
  }

  private apply(orderId: string, { askedAt, state }: Answer): void {
    const changedAt = this.isDated ? Math.floor(state / 3) : Math.floor(askedAt / 1000);
    const snapshot: OrderSnapshot = {
      ...{ orderId, changedAt, status: 'released' },
      operations: [{ operationId: String(state), machineId: 'M-1', status: 'released' }],
    };
    const source = { topic: 't', partition: 0, offset: 0, messageId: null };
    const messages = [{ kind: 'snapshot' as const, order: snapshot }];
    const relayed: RelayedOrder = { orderId, messages, source, recordedAt: askedAt, askedAt };
    const received = { messages, position: positionOf(relayed) };
    const applied = applyToOrder(received, this.ledger.get(orderId), (each) => each.machineId);
    if (applied.known !== undefined) this.ledger.set(orderId, applied.known);
  }
}

describe('any history of changes, events, answers, failures and crashes', () => {
  it.each([true, false])(
    'ends with every order as in the ERP, each event ended, and one GET at a time (dated: %s)',
    (isDated) => {
      fc.assert(
        fc.property(
          fc.array(aStep, { minLength: 10, maxLength: 80, size: 'max' }),
          (steps: readonly Step[]) => {
            const enrichment = new Enrichment(isDated);
            for (const step of steps) enrichment.step(step);
            enrichment.finish();
            for (const [orderId, state] of enrichment.erp) {
              const known = enrichment.ledger.get(orderId)?.operations[0]?.operationId ?? '0';
              expect({ orderId, state: known }).toEqual({ orderId, state: String(state) });
            }
          },
        ),
        { numRuns: 500 * Number(process.env.PROPERTY_DEPTH ?? 1) },
      );
    },
  );
});
