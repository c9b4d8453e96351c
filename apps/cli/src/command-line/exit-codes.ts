import { EXIT_CODE_BAD_SETTINGS } from '#libs/config';

/** The exit codes of all commands (sysexits), see docs/cli.md. */
export const EXIT_CODES = {
  ok: 0,
  /** Refused, failed, interrupted, or a check has failed. */
  failed: 1,
  /** EX_USAGE */
  usage: 64,
  /** EX_UNAVAILABLE */
  unreachable: 69,
  /** EX_CONFIG */
  settings: EXIT_CODE_BAD_SETTINGS,
} as const;

/** Kafka, the service or a bridge does not answer. The same command may succeed later. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}
