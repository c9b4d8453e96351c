export { type Bridge, createBridge } from './create-bridge.js';
