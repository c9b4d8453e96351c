import { isOlderVersion, type OrderMessage } from '#libs/contracts';
import { type CommandResult } from '../../command-delivery/index.js';
import { type KnownOrder, wasTakenIn } from './known-order.js';
import { isSame, type MessagePosition } from './message-position.js';

/** What a message says of one of its orders: something, less than is known, or what it has said before. */
export type OrderStanding =
  { kind: 'taken-in' } | { kind: 'superseded'; detail: string } | { kind: 'repeated' };

/** What became of a message that neither names a machine nor changes anything on one. */
export type AnswerWithoutMachine = { kind: 'applied' } | { kind: 'superseded'; detail: string };

/**
 * Whether the message is among those that what is known comes from: one that lies where another has lain, in a
 * topic made anew, would be newer. That later ones are known does not say so: it may have been refused.
 */
export function isTakenInAgain(
  known: KnownOrder | undefined,
  { order }: OrderMessage,
  position: MessagePosition,
): boolean {
  if (known === undefined || isOlderVersion(known, order)) return false;
  return isSame(position, known.from) || wasTakenIn(position, known);
}

/**
 * Nothing when the message is delivered again: this answer is written together with what the message leaves
 * in the ledger. When it first came it may have taken orders off machines, which it does not name.
 */
export function answerWithoutMachine(
  standings: readonly OrderStanding[],
): AnswerWithoutMachine | undefined {
  let answer: AnswerWithoutMachine | undefined;
  for (const standing of standings) {
    if (standing.kind === 'repeated') return undefined;
    if (standing.kind === 'taken-in') answer = { kind: 'applied' };
    else answer ??= standing;
  }
  return answer ?? { kind: 'applied' };
}

/** @param nowSeconds when it has come into the ledger, which is all there is to do for it */
export function resultWithoutMachine(
  answer: AnswerWithoutMachine,
  nowSeconds: number,
): CommandResult {
  const result = { machineId: null, attempts: 0 };
  switch (answer.kind) {
    case 'applied':
      return { ...result, kind: answer.kind, appliedAt: nowSeconds };
    case 'superseded':
      return { ...result, ...answer };
    default:
      return answer satisfies never;
  }
}
