export * from './run-program.js';
export { VERSION } from './version.js';
