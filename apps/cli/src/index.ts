export { EXIT_CODES } from './command-line/exit-codes.js';
export { createProgram } from './program.js';
