// Access tokens: fixed, in a file, of the service's login, or of an OAuth server; renewed before they expire.
export { openClientCredentials, openServiceTokens, openTokenSource } from './open-token-source.js';
export { type RenewedTokenSource } from './renewed-token-source.js';
export {
  callWithToken,
  fixedToken,
  type NoToken,
  type TokenAnswer,
  type TokenSource,
} from './token-source.js';
