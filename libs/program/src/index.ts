// Runs a server as a program: signals, exit codes, its version.
export * from './run-program.js';
