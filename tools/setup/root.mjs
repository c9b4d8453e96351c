import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder, wherever a command was started from. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** What the tools keep between runs; deleting it loses nothing but time and the demo's data. */
export const LOCAL = resolve(ROOT, '.local');
