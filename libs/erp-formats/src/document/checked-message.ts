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
 * Checks a snapshot by the rules of the canonical form (lengths, characters, unique operation ids). Calls `pathOf` only
 * for a refusal, which gets the path in the document.
 */
export function snapshotMessage(pathOf: PathOf, order: OrderSnapshot): Parsed<OrderMessage> {
  const { fence } = order;
  const checked = parseOrderMessage(order);
  if (!checked.ok) return withPath(pathOf(), checked);
  return parsed({ kind: 'snapshot', order: { ...checked.value, ...(fence && { fence }) } });
}

/** Checks a change. The ids in `replaces` are parts of its operations' ids and need no check. */
export function changeMessage(pathOf: PathOf, change: OrderChange): Parsed<OrderMessage> {
  const { fence, replaces } = change;
  const checked = parseOrderChange(change);
  if (!checked.ok) return withPath(pathOf(), checked);
  const order = { ...checked.value, ...(replaces && { replaces }), ...(fence && { fence }) };
  return parsed({ kind: 'change', order });
}

/** Adds the path in the document to a refusal. */
export function withPath(path: string, { rejection: { code, detail } }: Refused): Refused {
  return rejected(code, path === '' ? detail : `${path}: ${detail}`);
}
