import { ExitOnSignals } from './exit-on-signals.js';

// First of all, and before anything else is loaded: a signal must not kill the process meanwhile.
const signals = new ExitOnSignals();
const { runBridge } = await import('./run-bridge.js');
await runBridge(signals);
