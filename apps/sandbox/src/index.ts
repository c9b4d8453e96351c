export { loadSettings } from './create-sandbox.js';
