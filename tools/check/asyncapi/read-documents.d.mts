/** The name of the AsyncAPI document among {@link readDocuments}. */
export const DOCUMENT: 'asyncapi.yaml';

/** docs/asyncapi.yaml and docs/schemas/*.json: content by name, as seen from docs/. */
export function readDocuments(root: string): Map<string, unknown>;
