import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

// At the top of each file of tests: after all that it describes has ended what uses them.
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder that is gone after the file of tests. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'machine-bridge-test-'));
  folders.push(folder);
  return folder;
}

/** A file in a folder of its own, of a text or of JSON. */
export function temporaryFile(name: string, content: string | object): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
