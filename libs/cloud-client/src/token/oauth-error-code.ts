/** RFC 6749, section 5.2. */
const CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
] as const;

/** The code of an OAuth error answer, undefined for any other body. */
export function oauthErrorCode(body: string): (typeof CODES)[number] | undefined {
  return CODES.find((code) => new RegExp(`"error"\\s*:\\s*"${code}"`).test(body));
}
