import { createRequire } from 'node:module';

/** The project's own, from its package.json, wherever the app is built to. */
export const VERSION = (createRequire(import.meta.url)('#package.json') as { version: string })
  .version;
