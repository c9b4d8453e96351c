/** The machines a call names: in its query, its body, or the list in its body. */
export function machineIdsOf(query: unknown, body: unknown): string[] {
  const machines = field(body, 'machines');
  const listed = Array.isArray(machines) ? machines.map((entry) => field(entry, 'machineId')) : [];
  const named = [field(query, 'machineId'), field(body, 'machineId'), ...listed];
  return [...new Set(named.filter((id): id is string => typeof id === 'string'))];
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}
