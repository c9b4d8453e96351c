import { type CommandOutcome, headerText, OUTCOME_TYPES } from '#libs/contracts';
import { type StoredRecord } from '#libs/messaging';

const DEFERRALS = new Set<string>([
  OUTCOME_TYPES.workOrderListDeferred,
  OUTCOME_TYPES.downtimeReasonDeferred,
]);

/**
 * Whom a record of `machine.command-outcomes.v1` gives a final outcome; undefined for a deferral, and for
 * what others have written there.
 */
export function finalOutcomeOf({
  headers,
  value,
}: Pick<StoredRecord, 'headers' | 'value'>):
  Pick<CommandOutcome, 'source' | 'machineId'> | undefined {
  const type = headerText(headers, 'ce_type');
  if (type === null || DEFERRALS.has(type)) return undefined;
  try {
    const outcome = JSON.parse(value?.toString() ?? 'null') as Partial<CommandOutcome> | null;
    const { source, machineId } = outcome ?? {};
    return source === undefined || machineId === undefined ? undefined : { source, machineId };
  } catch {
    return undefined;
  }
}
