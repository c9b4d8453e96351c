/** The key of the AsyncAPI document in {@link readDocuments}. */
export const DOCUMENT: 'asyncapi.yaml';

/** The contents of docs/asyncapi.yaml and docs/schemas/*.json, by path below docs/. */
export function readDocuments(root: string): Map<string, unknown>;
