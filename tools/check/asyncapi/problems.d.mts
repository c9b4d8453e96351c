/** What is wrong with the AsyncAPI document and its schemas, given by name as seen from docs/; a sentence each. */
export function problemsOf(documents: ReadonlyMap<string, unknown>): string[];
