/** Problems of the AsyncAPI document and its schemas, one sentence each. Keys of `documents` are paths below docs/. */
export function problemsOf(documents: ReadonlyMap<string, unknown>): string[];
