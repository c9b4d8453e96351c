export { BoundedExpressions } from './bounded-expressions.js';
