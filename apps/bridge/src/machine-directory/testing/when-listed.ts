import type { MachineDirectory } from '../machine-directory.js';

/** Resolves as soon as the list of machines has been read. */
export async function whenListed(directory: MachineDirectory): Promise<void> {
  if (directory.status.loadedAt !== null) return;
  await new Promise<void>((resolve) => {
    const unsubscribe = directory.onRefresh(() => {
      unsubscribe();
      resolve();
    });
  });
}
