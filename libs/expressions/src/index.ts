// JSONata, evaluated in a child process with bounds of time and memory.
export { BoundedExpressions, expressionFault } from './bounded-expressions.js';
