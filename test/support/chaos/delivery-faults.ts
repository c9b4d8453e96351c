import type { CommandKind } from './commands.js';
import type { Deliveries, Delivery } from './deliveries.js';
import { inBrief } from './in-brief.js';

const NOTHING_YET: Delivery = { number: -1, call: 0, life: 0 };

/** How many commands each machine was sent. */
export type Sent = ReadonlyMap<string, number>;

/** Whether a machine's deliveries may step back here, as they do when a process takes over and repeats. */
export type MayRepeat = (machineId: string, before: Delivery, after: Delivery) => boolean;

/** Reasons that never took effect, one text for each machine; empty if none is missing. */
export function lostReasons(sent: Sent, deliveries: Deliveries): string[] {
  const faults = [...sent].flatMap(([machineId, count]) => {
    const carriedOut = new Set(deliveries.get(machineId)?.map(({ number }) => number));
    return Array.from({ length: count }, (_, number) => number)
      .filter((number) => !carriedOut.has(number))
      .map((number) => `${machineId}: reason ${number} of ${count} is lost`);
  });
  return inBrief(faults);
}

/** Machines whose last effective list is not the last list sent, as text. */
export function staleLists(sent: Sent, deliveries: Deliveries): string[] {
  const faults = [...sent].flatMap(([machineId, count]) => {
    const last = deliveries.get(machineId)?.at(-1)?.number;
    if (last === count - 1 || count === 0) return [];
    return [`${machineId}: list ${String(last)} instead of ${count - 1}`];
  });
  return inBrief(faults);
}

/**
 * Every place where a machine's commands took effect out of order, as text. A reason must follow the one sent before
 * it; a list may leave out those that it supersedes. A repetition is a step back, which `mayRepeat` allows or not; from
 * there on the order must be kept again.
 */
export function disorder(
  kind: CommandKind,
  deliveries: Deliveries,
  mayRepeat: MayRepeat = () => false,
): string[] {
  const faults = [...deliveries].flatMap(([machineId, ofMachine]) => {
    return ofMachine.flatMap((after, index) => {
      const before = ofMachine[index - 1] ?? NOTHING_YET;
      const isRepeated = after.number <= before.number;
      if (isRepeated && mayRepeat(machineId, before, after)) return [];
      const isGap = kind === 'reason' && after.number > before.number + 1;
      if (!isRepeated && !isGap) return [];
      return [`${machineId}: ${kind} ${inWords(after)} after ${inWords(before)}`];
    });
  });
  return inBrief(faults);
}

function inWords({ number, call, life }: Delivery): string {
  return `${number} (call ${call}, life ${life})`;
}

/** Allows a command to come again right after itself: its answer was lost or came too late. */
export const sameAgain: MayRepeat = (_machineId, before, after) => after.number === before.number;

/** Allows each machine this number of steps back, anywhere. It counts, so make a new one for each check. */
export function atMostRepeats(times: number): MayRepeat {
  const used = new Map<string, number>();
  return (machineId) => {
    const count = (used.get(machineId) ?? 0) + 1;
    used.set(machineId, count);
    return count <= times;
  };
}

/**
 * Allows a step back from one life to the next, and within a life whose process has lost its membership of the group,
 * which a busy computer causes; never below the offsets committed at the beginning of the life. `committed` holds, for
 * each life except the first, each machine's first uncommitted command.
 */
export function fromCommitted(
  committed: readonly Sent[],
  hasRejoined: (life: number) => boolean = () => false,
): MayRepeat {
  return (machineId, before, after) => {
    if (after.life === before.life && !hasRejoined(after.life)) return false;
    if (after.life === 0) return true;
    // everything was committed of a machine that is not listed
    return after.number >= (committed[after.life - 1]?.get(machineId) ?? Infinity);
  };
}
