import { readFileSync } from 'node:fs';
import { ShiftCalendar } from '#libs/clock';
import { SettingsError, type SandboxSettings } from '#libs/config';
import { Plant, type PlantMachine, readTimelineScript, simulateMachines } from './plant/index.js';

/**
 * The plant the settings ask for: simulated, or as a timeline script tells it.
 *
 * @throws SettingsError when the script cannot be used
 */
export function buildPlant(settings: SandboxSettings): Plant {
  const calendar = new ShiftCalendar(settings.shifts);
  const { timelineFile } = settings;
  const machines =
    timelineFile === undefined
      ? simulateMachines(settings, calendar)
      : readScriptFile(timelineFile);
  return new Plant(calendar, machines);
}

function readScriptFile(path: string): PlantMachine[] {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new SettingsError([`SANDBOX_TIMELINE_FILE names a file that ${why}`]);
  }
  const read = readTimelineScript(json);
  if (read.ok) return read.machines;
  throw new SettingsError(read.problems.map((problem) => `SANDBOX_TIMELINE_FILE: ${problem}`));
}
