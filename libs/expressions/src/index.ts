// JSONata in a process of its own, within bounds of time and memory.
export { BoundedExpressions, expressionFault } from './bounded-expressions.js';
