import { askBridge } from '../command-line/bridge.js';
import { BRIDGE_OPTION, type CliCommand, JSON_OPTION } from '../command-line/command.js';
import { print, printStatus, visible, visibleJson } from '../command-line/output.js';
import {
  isClear,
  type ListedMachine,
  type MachineProposal,
  MachineProposals,
} from './propose-machines.js';

/** An answer of `GET /api/equipment/unmapped`. */
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

interface MapOptions {
  bridge?: string;
  json?: boolean;
}

/** `erp map`: entries for the equipment map that are missing, to be checked and copied by somebody. */
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

async function proposeMap({ bridge, json = false }: MapOptions): Promise<void> {
  const unmapped = (await askBridge(bridge, '/api/equipment/unmapped')) as UnmappedWorkCentre[];
  const machines = (await askBridge(bridge, '/api/machines')) as ListedMachine[];
  const proposals = new MachineProposals(machines);
  const entries = unmapped.map((place): ProposedEntry => {
    const { workCentre } = place;
    const found = workCentre === null ? [] : proposals.of({ ...place, workCentre });
    return { ...place, proposals: found, isClear: place.plant !== null && isClear(found) };
  });
  for (const entry of entries) {
    if (json) print(visibleJson(entry));
    else linesOf(entry).forEach(print);
  }
  if (json) return;
  const clear = entries.filter((entry) => entry.isClear).length;
  printStatus(
    `${entries.length} unmapped work centres, ${clear} with a clear proposal; check each`,
  );
}

function linesOf({ plant, workCentre, operations, orderIds, ...found }: ProposedEntry): string[] {
  const asked = `${operations} operations, such as of ${orderIds.at(-1) ?? 'no order'}`;
  if (workCentre === null || plant === null) {
    const missing = workCentre === null ? 'no work centre' : `no plant beside ${workCentre}`;
    return [visible(`# ${asked}: they name ${missing}`), ...choices(found, '?', workCentre ?? '?')];
  }
  if (found.proposals.length === 0) {
    const place = `plant ${plant}, work centre ${workCentre}`;
    return [visible(`# no machine is like ${place}: ${asked}`)];
  }
  return choices(found, plant, workCentre);
}

/** One clear entry, else a comment for each. */
function choices(
  { proposals, isClear: clear }: Pick<ProposedEntry, 'proposals' | 'isClear'>,
  plant: string,
  workCentre: string,
): string[] {
  return (clear ? proposals.slice(0, 1) : proposals).map((proposal) => {
    const { machineId, displayName, score, reason } = proposal;
    // JSON's texts are YAML's
    const fields = Object.entries({ plant, workCentre, machineId }).map(
      ([name, text]) => `${name}: ${visibleJson(text)}`,
    );
    const why = visible(`${score.toFixed(2)} ${reason}: ${displayName}`);
    return `${clear ? '' : '# '}- { ${fields.join(', ')} } # ${why}`;
  });
}
