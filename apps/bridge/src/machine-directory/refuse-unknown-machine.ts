import { type Rejection } from '#libs/contracts';
import { type MachineDirectory } from './machine-directory.js';

/** The rejection of a command for a machine that the directory does not list; undefined for any other. */
export async function refuseUnknownMachine(
  directory: MachineDirectory,
  machineId: string,
  signal: AbortSignal,
): Promise<Rejection | 'unavailable' | undefined> {
  const answer = await directory.checkMachine(machineId, signal);
  if (answer === 'unavailable') return answer;
  if (answer !== 'unknown') return undefined;
  return { code: 'unknown-machine', detail: `the service lists no machine ${machineId}` };
}
