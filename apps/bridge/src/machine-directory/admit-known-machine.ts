import { type Admission, GO } from '../delivery/index.js';
import { type MachineDirectory } from './machine-directory.js';

/** Refuses a command for a machine that the directory does not list, after it has looked once more. */
export async function admitKnownMachine(
  directory: MachineDirectory,
  machineId: string,
  signal: AbortSignal,
): Promise<Admission> {
  const answer = await directory.checkMachine(machineId, signal);
  if (typeof answer === 'object') return answer;
  if (answer !== 'unknown') return GO;
  const detail = `the service lists no machine ${machineId}`;
  return { kind: 'rejected', rejection: { code: 'unknown-machine', detail } };
}
