/** What a token may be allowed to do; the interface leaves the names open. */
export const SCOPES = [
  'machine-info',
  'machine-state',
  'machine-activity',
  'classification-reasons',
  'classification-write',
  'work-order-write',
] as const;

export type Scope = (typeof SCOPES)[number];

export const ALL_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);

export function isScope(name: unknown): name is Scope {
  return ALL_SCOPES.has(name as Scope);
}
