export { CloudCalls } from './cloud-calls.js';
export { tightenHeapForMachines, tightenHeapForOrders } from './heap-growth.js';
export { PlatformModule } from './platform.module.js';
export { BRIDGE_SETTINGS, KAFKA } from './tokens.js';
