// Access tokens: fixed, in a file, of the service's login, or of an OAuth server; renewed before they expire.
export { openClientCredentials, openTokenSource } from './open-token-source.js';
export { type RenewedTokenSource } from './renewed-token-source.js';
export { TokenFileSource } from './token-file-source.js';
export {
  fixedToken,
  type NoToken,
  type TokenAnswer,
  type TokenSource,
  type TokenWay,
} from './token-source.js';
