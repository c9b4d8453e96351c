export * from './run-program.js';
