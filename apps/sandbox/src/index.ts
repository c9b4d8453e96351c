export { createSandbox } from './create-sandbox.js';
