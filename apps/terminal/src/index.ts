export { createTerminal, type Terminal } from './create-terminal.js';
export type * from './api/index.js';
