import { type OutboundRecord } from '#libs/messaging';
import { type AnsweredMessage } from '../../command-delivery/index.js';
import { type AssignmentChange } from '../assignments/assignment-change.js';
import { deriveOrders, type OrderConsequences, type OrderView } from './derive-orders.js';
import { answerOf, type GatheredOrders, type MessageAnswer } from './gathered-orders.js';
import { type Gatherings } from './gatherings.js';
import {
  type GatheredEntry,
  type OrderEntry,
  type OrdersEntry,
  type PartEntry,
  type RelayEntry,
} from './order-entries.js';
import { type MachineOf } from './place-order.js';
import { type UnmappedOperation } from './reject-unmapped.js';
import { type RelayReport } from './relay-reports.js';
import { type AnswerWithoutMachine } from './without-machine.js';

/** What is to be said of a message once its consequences are written. */
export interface OrderAnswer extends MessageAnswer {
  entry: OrdersEntry | GatheredEntry;
  /** Machines whose assignments it has changed. */
  assigned: number;
  unmapped: readonly UnmappedOperation[];
  /** To be written with the message's offset, beside what `results` say. */
  records: readonly OutboundRecord[];
}

/** What becomes of what is derived: records to be written with it, and what is to be done once they are. */
export interface OrderEffects {
  machineOf: MachineOf;
  /** See {@link OrderView.latestSeconds}. */
  latestSeconds: () => number;
  toChanges: (changes: readonly AssignmentChange[]) => readonly OutboundRecord[];
  toReport: (report: RelayReport) => OutboundRecord;
  /** What a message that concerns no machine is answered with. */
  toOutcome: (answered: AnsweredMessage, answer: AnswerWithoutMachine) => OutboundRecord;
  answer: (answer: OrderAnswer) => void;
  /** All parts of a message have been reported: it is to be written next. */
  gathered: (entry: GatheredEntry) => void;
}

/** What entries of one partition lead to, one after the other, over the orders as those before have left them. */
export class DerivedEntries {
  private readonly changes: AssignmentChange[] = [];
  private readonly others: OutboundRecord[] = [];
  private readonly afterwards: (() => void)[] = [];

  constructor(
    private readonly effects: OrderEffects,
    private readonly gatherings: Gatherings,
    private readonly view: OrderView,
  ) {}

  toRecords(): OutboundRecord[] {
    return [...this.others, ...this.effects.toChanges(this.changes)];
  }

  /** To be called once it is written. */
  conclude(): void {
    for (const each of this.afterwards) each();
  }

  add(entry: OrderEntry): void {
    const { message } = entry;
    switch (entry.kind) {
      case 'orders': {
        const { gathered, isRecorded } = this.takeIn(entry);
        this.answer(entry, gathered, isRecorded);
        return;
      }
      case 'relay': {
        const atHome = this.takeInPart(entry);
        this.others.push(...entry.records);
        this.afterwards.push(() => {
          this.gatherings.begin(entry, atHome);
        });
        return;
      }
      case 'part':
        this.report(entry);
        return;
      case 'report':
        this.afterwards.push(() => {
          const gathered = this.gatherings.add(entry.report);
          if (gathered !== undefined) this.effects.gathered(gathered);
          message.finish();
        });
        return;
      case 'gathered':
        this.takeUp(entry);
        return;
      default:
        entry satisfies never;
    }
  }

  private takeIn(entry: OrdersEntry | RelayEntry | PartEntry): OrderConsequences {
    const { machineOf } = this.effects;
    const consequences = deriveOrders(entry, this.view, machineOf);
    const { assignments, isWritten } = consequences;
    const { kind, source } = entry;
    const isTold = kind === 'orders' && !isWritten;
    for (const [machineId, orders] of assignments) {
      const change = { machineId, orders, source };
      this.changes.push(isTold ? change : { ...change, isPart: true });
    }
    return consequences;
  }

  private takeInPart(entry: RelayEntry | PartEntry): GatheredOrders {
    const { gathered: said } = this.takeIn(entry);
    // that it was taken in before does not mean that it was answered: that is not written together with it
    const standings = said.standings.map((each) =>
      each.kind === 'repeated' ? ({ kind: 'taken-in' } as const) : each,
    );
    return { ...said, standings };
  }

  private report(entry: PartEntry): void {
    const said = this.takeInPart(entry);
    this.others.push(this.effects.toReport({ of: entry.reportTo, said }));
    this.afterwards.push(() => {
      entry.message.finish();
    });
  }

  /** All parts are in the lists by now: the machines' owners are to answer. Nothing of this is in the ledger. */
  private takeUp(entry: GatheredEntry): void {
    const { message, source, said } = entry;
    const key = message.key?.toString() ?? null;
    const changes = said.machineIds.map((machineId) => ({ machineId, orders: [], source, key }));
    this.answer(entry, said, false, this.effects.toChanges(changes));
  }

  private answer(
    entry: OrdersEntry | GatheredEntry,
    said: GatheredOrders,
    isRecorded: boolean,
    records: readonly OutboundRecord[] = [],
  ): void {
    const { toOutcome, answer } = this.effects;
    const { results, withoutMachine } = answerOf(said);
    const outcome = withoutMachine && toOutcome(entry.answered, withoutMachine);
    // Delivered again, the message is known to be in the ledger, and nothing is said of it: so it is said with that.
    if (outcome !== undefined && isRecorded) this.others.push(outcome);
    const { unmapped, machineIds } = said;
    const assigned = machineIds.length;
    const own = outcome === undefined || isRecorded ? records : [...records, outcome];
    this.afterwards.push(() => {
      answer({ entry, results, unmapped, withoutMachine, assigned, records: own });
    });
  }
}
