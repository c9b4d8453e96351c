import { type CallPermit, type ServiceAnswer } from '#libs/delivery';
import { type Command } from './command.js';
import { type DispatcherOptions } from './dispatcher-options.js';

/** Makes the one call of these commands; `cut off` when it was held back or broken off by us, and says nothing. */
export async function askService<P>(
  commands: readonly Command<P>[],
  { slots, call }: Pick<DispatcherOptions<P>, 'slots' | 'call'>,
): Promise<ServiceAnswer | 'cut off'> {
  const { signal, objection } = slots.permit();
  let objected: Error | undefined;
  const permit: CallPermit = {
    signal,
    objection: () => (objected = objection() ?? objectionOfLost(commands)),
  };
  try {
    return await call(commands, permit);
  } catch (error) {
    if (signal.aborted || objected !== undefined) return 'cut off';
    // The client answers with values; whatever it throws all the same must not strand the machines.
    return { kind: 'retry', afterMs: null, error: new Error(String(error), { cause: error }) };
  }
}

function objectionOfLost(commands: readonly { readonly isLost: boolean }[]): Error | undefined {
  const isLost = commands.every((command) => command.isLost);
  return isLost ? new Error('nobody waits for this any more') : undefined;
}
