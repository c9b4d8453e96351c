export function mutualFolders(imports: readonly (readonly string[])[]): [string, string][];
