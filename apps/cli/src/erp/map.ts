import { askBridge, isListOf } from '../command-line/bridge.js';
import {
  BRIDGE_OPTION,
  type BridgeOptions,
  type CliCommand,
  JSON_OPTION,
} from '../command-line/command.js';
import { counted, print, printStatus, visible, visibleJson } from '../command-line/output.js';

/** An item of `GET /api/equipment/unmapped`. */
interface UnmappedWorkCentre {
  plant: string | null;
  workCentre: string | null;
  operations: number;
  orderIds: string[];
}

interface ProposedEntry extends UnmappedWorkCentre {
  /** The best first. */
  proposals: MachineProposal[];
  isClear: boolean;
}

export function addMapCommand(erp: CliCommand): void {
  erp
    .command('map')
    .description(
      `Proposes entries of the equipment map for work centres that orders name and no machine is mapped for.

It asks a bridge for these work centres, which it knows since it runs, and for its machines, and compares their names. It \
prints YAML and writes no file.`,
    )
    .option(...BRIDGE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
Entries that have to be chosen are comments: those whose name is only similar, or like that of several machines.`,
    )
    .action(proposeMap);
}

async function proposeMap({ bridge, json = false }: BridgeOptions): Promise<void> {
  const unmapped = await askBridge<UnmappedWorkCentre[]>(
    bridge,
    '/api/equipment/unmapped',
    isListOf('workCentre', 'orderIds'),
  );
  const machines = await askBridge<ListedMachine[]>(
    bridge,
    '/api/machines',
    isListOf('machineId', 'displayName', 'factoryId', 'factoryName'),
  );
  const proposals = new MachineProposals(machines);
  const entries = unmapped.map((place): ProposedEntry => {
    const { workCentre } = place;
    const found = workCentre === null ? [] : proposals.propose({ ...place, workCentre });
    return { ...place, proposals: found, isClear: place.plant !== null && isClear(found) };
  });
  for (const entry of entries) {
    if (json) print(visibleJson(entry));
    else linesOf(entry).forEach(print);
  }
  if (json) return;
  const clear = entries.filter((entry) => entry.isClear).length;
  printStatus(
    `${counted(entries.length, 'unmapped work centre')}, ${clear} with a clear proposal; check each`,
  );
}

function linesOf({ plant, workCentre, operations, orderIds, ...found }: ProposedEntry): string[] {
  const asked = `${counted(operations, 'operation')}, such as of ${orderIds.at(-1) ?? 'no order'}`;
  if (workCentre === null || plant === null) {
    const missing = workCentre === null ? 'no work centre' : `no plant beside ${workCentre}`;
    return [visible(`# ${asked}: they name ${missing}`), ...toYaml(found, '?', workCentre ?? '?')];
  }
  if (found.proposals.length === 0) {
    const place = `plant ${plant}, work centre ${workCentre}`;
    return [visible(`# no machine is like ${place}: ${asked}`)];
  }
  return toYaml(found, plant, workCentre);
}

/** The entry of a clear proposal, else a comment for each proposal. */
function toYaml(
  { proposals, isClear: clear }: Pick<ProposedEntry, 'proposals' | 'isClear'>,
  plant: string,
  workCentre: string,
): string[] {
  return (clear ? proposals.slice(0, 1) : proposals).map((proposal) => {
    const { machineId, displayName, score, reason } = proposal;
    // a JSON string is also YAML
    const fields = Object.entries({ plant, workCentre, machineId }).map(
      ([name, text]) => `${name}: ${visibleJson(text)}`,
    );
    const why = visible(`${score.toFixed(2)} ${reason}: ${displayName}`);
    return `${clear ? '' : '# '}- { ${fields.join(', ')} } # ${why}`;
  });
}

interface WorkCentre {
  plant: string | null;
  workCentre: string;
}

/** A machine of `GET /api/machines`. */
interface ListedMachine {
  machineId: string;
  displayName: string;
  factoryId: string;
  factoryName: string;
}

interface MachineProposal {
  machineId: string;
  displayName: string;
  /** From 0 to 1; from 0.9 on, the texts differ only in spelling. */
  score: number;
  reason: string;
}

const LEAST_SCORE = 0.5;
const MOST_PROPOSALS = 5;
/** Added to the score where the machine's factory is the plant. */
const SAME_FACTORY = 0.04;
const BEST_OF_SIMILAR = 0.85;
const SAME_NUMBER_ALONE = 0.6;
/** A number with fewer digits is not sufficient by itself. */
const DIGITS_OF_A_NUMBER = 3;

/**
 * Finds machines whose id or name is equal to that of a work centre, differs only in case, accents, separators and
 * leading zeros, or is similar. Numbers must be equal: FR01 is not similar to FR02.
 */
export class MachineProposals {
  /** Index by numbers, so that a work centre is compared with few of 100,000 machines. */
  private readonly byNumbers = new Map<string, MachineName[]>();

  constructor(machines: Iterable<ListedMachine>) {
    for (const machine of machines) {
      const { machineId, displayName, factoryId, factoryName } = machine;
      const factories = [factoryId, factoryName].map((name) => normaliseName(name).whole);
      const names = new Set([machineId, displayName]);
      for (const text of names) {
        const what = text === machineId ? ('id' as const) : ('name' as const);
        const named = { machine, factories, text, what, folded: normaliseName(text) };
        const { numbers } = named.folded;
        const alike = this.byNumbers.get(numbers);
        if (alike === undefined) this.byNumbers.set(numbers, [named]);
        else alike.push(named);
      }
    }
  }

  /** Proposals for a work centre, the best first, one for each machine. */
  propose({ plant, workCentre }: WorkCentre): MachineProposal[] {
    const folded = normaliseName(workCentre);
    const factory = normaliseName(plant ?? '').whole;
    const best = new Map<string, MachineProposal>();
    for (const named of this.byNumbers.get(folded.numbers) ?? []) {
      const likeness = likenessOf(workCentre, folded, named);
      if (likeness === undefined) continue;
      const { machineId, displayName } = named.machine;
      const isThere = factory !== '' && named.factories.includes(factory);
      const score = round(likeness.score + (isThere && likeness.score < 1 ? SAME_FACTORY : 0));
      const reason = isThere ? `${likeness.reason}, in its factory` : likeness.reason;
      if ((best.get(machineId)?.score ?? 0) >= score) continue;
      best.set(machineId, { machineId, displayName, score, reason });
    }
    return [...best.values()]
      .sort((a, b) => b.score - a.score || (a.machineId < b.machineId ? -1 : 1))
      .slice(0, MOST_PROPOSALS);
  }
}

/** Whether the first proposal is sufficiently better than the others. */
export function isClear([first, second]: readonly MachineProposal[]): boolean {
  if (first === undefined || first.score < 0.9) return false;
  return second === undefined || round(first.score - second.score) >= SAME_FACTORY;
}

interface MachineName {
  machine: ListedMachine;
  factories: string[];
  text: string;
  what: 'id' | 'name';
  folded: NormalisedName;
}

interface NormalisedName {
  /** Words and numbers in order. */
  whole: string;
  /** The words, joined. */
  words: string;
  /** The numbers without leading zeros. */
  numbers: string;
}

/** Normalises case, accents, separators and leading zeros. */
function normaliseName(text: string): NormalisedName {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('ß', 'ss');
  const parts = (plain.match(/\p{Nd}+|\p{L}+/gu) ?? []).map((part) =>
    part.replace(/^0+(?=\d)/, ''),
  );
  const isNumber = (part: string): boolean => /^\p{Nd}/u.test(part);
  return {
    whole: parts.join(' ').replace(/(?<=\p{L}) (?=\p{L})/gu, ''),
    words: parts.filter((part) => !isNumber(part)).join(''),
    numbers: parts.filter(isNumber).join(' '),
  };
}

/** Similarity of two names with the same numbers. */
function likenessOf(
  workCentre: string,
  folded: NormalisedName,
  { text, what, folded: other }: MachineName,
): { score: number; reason: string } | undefined {
  if (workCentre === text) return { score: what === 'id' ? 1 : 0.98, reason: `the same ${what}` };
  if (folded.whole !== '' && folded.whole === other.whole) {
    return { score: what === 'id' ? 0.95 : 0.9, reason: `the same ${what} but for its spelling` };
  }
  if (folded.words === '' || other.words === '') {
    const isLong = folded.numbers.replaceAll(' ', '').length >= DIGITS_OF_A_NUMBER;
    return isLong
      ? { score: SAME_NUMBER_ALONE, reason: `the same number in the ${what}` }
      : undefined;
  }
  const score = BEST_OF_SIMILAR * diceOf(folded.words, other.words);
  return score < LEAST_SCORE ? undefined : { score, reason: `a similar ${what}` };
}

/** Sørensen–Dice coefficient: the share of common bigrams. */
function diceOf(one: string, other: string): number {
  if (one === other) return 1;
  const bigrams = bigramsOf(one);
  const others = bigramsOf(other);
  let common = 0;
  for (const bigram of bigrams) {
    const at = others.indexOf(bigram);
    if (at < 0) continue;
    others[at] = '';
    common += 1;
  }
  const all = bigrams.length + others.length;
  return all === 0 ? 0 : (2 * common) / all;
}

function bigramsOf(text: string): string[] {
  const characters = Array.from(text);
  return characters.slice(1).map((second, index) => `${characters[index]}${second}`);
}

function round(score: number): number {
  return Math.min(1, Math.round(score * 100) / 100);
}
