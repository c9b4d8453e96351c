import type { LoggedCall } from '../sandbox-control.js';
import type { CommandKind } from './commands.js';
import { deliveriesOf } from './deliveries.js';
import { disorder, lostReasons, type MayRepeat, type Sent, staleLists } from './delivery-faults.js';

interface DeliveryRules {
  /** Sequence numbers of the last call before each takeover; by default no process was lost. */
  takeovers?: readonly number[];
  /** A function, because each kind needs a new rule: some rules count. */
  mayRepeat?: () => MayRepeat;
}

/** Differences between sent and effective commands, as text: losses, stale lists, disorder. */
export function deliveryFaults(
  load: { sent: (kind: CommandKind) => Sent },
  calls: readonly LoggedCall[],
  { takeovers = [], mayRepeat = () => () => false }: DeliveryRules = {},
): string[] {
  const reasons = deliveriesOf('reason', calls, takeovers);
  const lists = deliveriesOf('list', calls, takeovers);
  return [
    ...lostReasons(load.sent('reason'), reasons),
    ...staleLists(load.sent('list'), lists),
    ...disorder('reason', reasons, mayRepeat()),
    ...disorder('list', lists, mayRepeat()),
  ];
}
