import { type Verdict } from '#libs/delivery';
import { type Command } from './command.js';
import { Forbidden } from './forbidden.js';
import { RefusalInCompany } from './refusal-in-company.js';
import { type FlowCalls, type StartedCall } from './started-call.js';

/** The verdict on commands whose call was answered 403, which each of them remembers. */
export function reviewForbidden(
  commands: readonly Pick<Command<unknown>, 'machineId' | 'forbidden'>[],
  verdict: Verdict,
  call: StartedCall,
  flow: FlowCalls,
): Verdict {
  const each = commands.map((command) => (command.forbidden ??= new Forbidden(command.machineId)));
  const [only] = each;
  if (only !== undefined && each.length === 1) return only.review(verdict, call, flow);
  // Of several machines together nothing can be said yet: they part, and each is judged by itself.
  const machineIds = commands.map(({ machineId }) => machineId);
  const refusal = new RefusalInCompany(machineIds, flow.latestBegun);
  for (const forbidden of each) forbidden.refusedInCompany(refusal);
  return verdict;
}
