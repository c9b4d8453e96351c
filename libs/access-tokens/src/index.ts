// Access tokens: fixed, from a file, from the service's login or an OAuth server; renewed before they expire.
export { openClientCredentials, openServiceTokens, openTokenSource } from './open-token-source.js';
export { type RenewedTokenSource } from './renewed-token-source.js';
export { callWithToken, type NoToken, type TokenAnswer, type TokenSource } from './token-source.js';
