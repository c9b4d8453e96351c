import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Deleted by tools/test/node-environment.mjs: hooks do not run in a test file of which no test is chosen, whose folders
 * are made all the same.
 */
const folders = ((globalThis as { temporaryFolders?: string[] }).temporaryFolders ??= []);

/** A folder that is deleted after the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'machine-bridge-test-'));
  folders.push(folder);
  return folder;
}

/** Writes a text or JSON to a file in its own folder. */
export function temporaryFile(name: string, content: string | object): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
