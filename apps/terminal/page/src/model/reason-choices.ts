import type { ReasonLists, Session } from '../../../src/api/index.js';
import type { Language } from './strings.js';
import { hasWords } from './tiles.js';

export type Reason = ReasonLists['lists'][number][number];

export interface Choice extends Reason {
  colour: string | null;
}

interface ChoiceGroup {
  /** null: reasons without a group in the file */
  title: string | null;
  colour: string | null;
  choices: Choice[];
}

export interface Choices {
  favourites: Choice[];
  groups: ChoiceGroup[];
}

type Looks = Pick<Session, 'reasonLooks' | 'groups'>;

/** The name in the operator's language, else the service's name, else the code. */
export function reasonName(
  code: string,
  looks: Looks | null,
  reasons: readonly Reason[],
  language: Language,
): string {
  return (
    looks?.reasonLooks[code]?.names?.[language] ??
    reasons.find((reason) => reason.code === code)?.name ??
    code
  );
}

/** The reason's own colour, else its group's. */
export function reasonColour(code: string, looks: Looks | null): string | null {
  const look = looks?.reasonLooks[code];
  return look?.colour ?? looks?.groups.find(({ group }) => group === look?.group)?.colour ?? null;
}

/** Favourites first, then groups in the file's order, then reasons without a group; `search` narrows the groups. */
export function choicesOf(
  reasons: readonly Reason[],
  favourites: readonly string[],
  looks: Looks,
  language: Language,
  search: string,
): Choices {
  const all = reasons.map(({ code }) => ({
    code,
    name: reasonName(code, looks, reasons, language),
    colour: reasonColour(code, looks),
    group: looks.reasonLooks[code]?.group ?? null,
  }));
  const found = all.filter(({ code, name }) => hasWords(`${code} ${name}`, search));
  const named = looks.groups.map(({ group, colour, names }) => ({
    title: names?.[language] ?? group,
    colour: colour ?? null,
    choices: found.filter((choice) => choice.group === group),
  }));
  const known = new Set(looks.groups.map(({ group }) => group));
  const others = found.filter(({ group }) => group === null || !known.has(group));
  return {
    favourites: favourites
      .flatMap((code) => all.find((choice) => choice.code === code) ?? [])
      .slice(0, 4),
    groups: [...named, { title: null, colour: null, choices: others }].filter(
      ({ choices }) => choices.length > 0,
    ),
  };
}

/** Merges received reasons into known ones; each list is stored once. */
export function withReasons(known: ReasonLists | null, received: ReasonLists): ReasonLists {
  const lists = known?.lists.slice() ?? [];
  const machines = new Map(Object.entries(known?.machines ?? {}));
  const places = new Map(lists.map((list, index) => [JSON.stringify(list), index]));
  const placeOf = (list: Reason[]): number => {
    const text = JSON.stringify(list);
    const place = places.get(text) ?? lists.push(list) - 1;
    places.set(text, place);
    return place;
  };
  for (const [machineId, { list, favourites }] of Object.entries(received.machines)) {
    machines.set(machineId, { list: placeOf(received.lists[list] ?? []), favourites });
  }
  return { lists, machines: Object.fromEntries(machines) };
}

/** Reasons that all of the machines offer, for several stops at once. */
export function commonReasons(lists: readonly (readonly Reason[])[]): Reason[] {
  const [first = [], ...rest] = lists;
  return first.filter(({ code }) =>
    rest.every((list) => list.some((reason) => reason.code === code)),
  );
}
