// First of all, and before anything else is loaded, which takes most of a second: a signal must not kill the process
// meanwhile.
const exit = (): never => process.exit(0);
process.on('SIGTERM', exit).on('SIGINT', exit);
const { runBridge } = await import('./run-bridge.js');
// Node 24 loads in one go: a signal that came meanwhile is handed over now.
await new Promise(setImmediate);
const running = runBridge();
process.off('SIGTERM', exit).off('SIGINT', exit);
await running;
