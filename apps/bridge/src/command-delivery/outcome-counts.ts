import { type RejectionCode } from '#libs/contracts';
import { type CommandFamily, FLOW_OF, type Outcome } from './outcome-data.js';

export interface OutcomeTotal {
  readonly flow: string;
  readonly outcome: Outcome;
  /** Of rejections; else empty. */
  readonly code: RejectionCode | '';
  count: number;
}

/** How many outcomes there have been of each kind: plain numbers, since every message is counted. */
export class OutcomeCounts {
  /** A rejection by its code, anything else by what it is: no code is named like an outcome. */
  private readonly counts: Readonly<Record<CommandFamily, Map<string, OutcomeTotal>>> = {
    'work-order-list': new Map(),
    'downtime-reason': new Map(),
  };

  add(family: CommandFamily, outcome: Outcome, code: RejectionCode | null): void {
    const total = this.counts[family].get(code ?? outcome) ?? this.begin(family, outcome, code);
    total.count += 1;
  }

  totals(): OutcomeTotal[] {
    return Object.values(this.counts).flatMap((counts) => [...counts.values()]);
  }

  private begin(family: CommandFamily, outcome: Outcome, code: RejectionCode | null): OutcomeTotal {
    const total: OutcomeTotal = { flow: FLOW_OF[family], outcome, code: code ?? '', count: 0 };
    this.counts[family].set(code ?? outcome, total);
    return total;
  }
}
