import {
  parseOrderChange,
  parseOrderMessage,
  parsed,
  rejected,
  type OrderChange,
  type OrderMessage,
  type OrderSnapshot,
  type Parsed,
  type Refused,
} from '#libs/contracts';

type PathOf = () => string;

/**
 * The rules of the canonical form (lengths, characters, one operation an id) hold for every source alike;
 * what they refuse is placed in the foreign document by `pathOf`, which is asked only then.
 */
export function snapshotMessage(pathOf: PathOf, order: OrderSnapshot): Parsed<OrderMessage> {
  const { fence } = order;
  const checked = parseOrderMessage(order);
  if (!checked.ok) return placed(pathOf(), checked);
  return parsed({ kind: 'snapshot', order: { ...checked.value, ...(fence && { fence }) } });
}

/** The ids that a change replaces are parts of those of its operations, and are as sound as these. */
export function changeMessage(pathOf: PathOf, change: OrderChange): Parsed<OrderMessage> {
  const { fence, replaces } = change;
  const checked = parseOrderChange(change);
  if (!checked.ok) return placed(pathOf(), checked);
  const order = { ...checked.value, ...(replaces && { replaces }), ...(fence && { fence }) };
  return parsed({ kind: 'change', order });
}

/** A refusal of the canonical rules, with the place in the foreign document. */
export function placed(path: string, { rejection: { code, detail } }: Refused): Refused {
  return rejected(code, path === '' ? detail : `${path}: ${detail}`);
}
