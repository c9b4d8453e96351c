import { EXIT_CODE_BAD_SETTINGS, SettingsError } from '#libs/config';

/** The command was used wrongly (sysexits: EX_USAGE). */
const EXIT_CODE_USAGE = 64;

/** Says why a command ended, unless that has been said, and with which code. */
export function reportFailure(error: Error): void {
  if (isCommanderError(error)) {
    // Help that was asked for "fails" with 0; the rest commander has already explained.
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_CODE_USAGE;
    return;
  }
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error instanceof SettingsError ? EXIT_CODE_BAD_SETTINGS : 1;
}

/** Its class belongs to a dependency of nest-commander's, out of reach. */
function isCommanderError(error: Error): error is Error & { exitCode: number } {
  return 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.');
}
