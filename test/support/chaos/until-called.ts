import { eventually } from '../eventually.js';
import type { ChaosPlant } from './chaos-plant.js';
import { type CommandKind, OPERATION_OF } from './commands.js';

/** Waits until the service has got this number of calls for commands of a kind, after a call of the log. */
export async function untilCalled(
  plant: ChaosPlant,
  kind: CommandKind,
  { times, since = 0 }: { times: number; since?: number },
): Promise<void> {
  const operation = OPERATION_OF[kind];
  await plant.reportIfInVain(
    eventually(
      `${times} calls of ${operation}`,
      async () => (await plant.sandbox.countCalls(operation, since, times)) === times,
    ),
  );
}

/** Waits until there is a new call for each machine. */
export async function untilAllMove(plant: ChaosPlant): Promise<void> {
  const { sandbox, load } = plant;
  const standing = new Set(load.machineIds);
  let last = await sandbox.newestCall();
  await plant.reportIfInVain(
    eventually('a call is made for every machine', async () => {
      for (const { machineIds, sequence } of await sandbox.allCalls(last)) {
        last = sequence;
        for (const machineId of machineIds) standing.delete(machineId);
      }
      if (standing.size === 0) return true;
      throw new Error(`no call for ${[...standing].join(', ')}; the newest is ${last}`);
    }),
  );
}
