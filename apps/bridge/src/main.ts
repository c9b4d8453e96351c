// Before anything else is loaded, which takes most of a second: a signal meanwhile must not kill the process.
const exit = (): never => process.exit(0);
process.on('SIGTERM', exit).on('SIGINT', exit);
const { runBridge } = await import('./run-bridge.js');
// Node 24 loads everything in one turn of the event loop: a signal that came meanwhile is delivered now.
await new Promise(setImmediate);
const running = runBridge();
process.off('SIGTERM', exit).off('SIGINT', exit);
await running;
