import { createRequire } from 'node:module';

/** The project's own, from its package.json: two folders further up where the commands are built. */
export const VERSION = (createRequire(import.meta.url)('#package.json') as { version: string })
  .version;
