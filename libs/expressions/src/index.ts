export { BoundedExpressions, expressionFault } from './bounded-expressions.js';
