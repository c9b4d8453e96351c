import type { PlantMachine } from '../plant/index.js';

/** Why a classification is refused (interface, "setMachineClassification": 422), or null. */
export function refuseClassification(
  request: { startTime: number; endTime: number | null; reasonId: string },
  machine: PlantMachine,
  now: number,
): string | null {
  if (!machine.reasons.some(({ code }) => code === request.reasonId)) {
    return `reason ID ${request.reasonId} does not exist for machine ${machine.machineId}`;
  }
  if (request.endTime !== null && request.startTime > request.endTime) {
    return 'startTime is later than endTime';
  }
  return request.startTime > now ? 'startTime is in the future' : null;
}
