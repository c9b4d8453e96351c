import { isJsonObject, parsed, rejected, type Parsed } from '#libs/contracts';

import { pathTo, valueOf, type ODataEntity } from './odata-entity.js';

/** Refuses an entity of whose parts the server sent the first page: the others would count as gone. */
export function checkPages(entity: ODataEntity, names: readonly string[]): Parsed<undefined> {
  const link = names.map((name) => nextPageOf(entity, name)).find(Boolean);
  if (link === undefined) return parsed(undefined);
  const remedy = '$expand without paging by the server, or send operations alone';
  return rejected('invalid-message', `${pathTo(entity, link)} leads to a further page: ${remedy}`);
}

/** The link is within what is expanded in V2, beside it in V4, and goes by a shorter name in V4.01. */
function nextPageOf({ fields }: ODataEntity, name: string): string | undefined {
  const value = valueOf(fields, name);
  if (isJsonObject(value) && isLink(valueOf(value, '__next'))) return `${name}.__next`;
  const besides = [`${name}@odata.nextLink`, `${name}@nextLink`];
  return besides.find((each) => isLink(valueOf(fields, each)));
}

function isLink(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
