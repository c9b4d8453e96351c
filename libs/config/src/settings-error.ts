/** The exit code of a process whose settings are wrong (sysexits: EX_CONFIG). */
export const EXIT_CODE_BAD_SETTINGS = 78;

/** Everything that is wrong with the settings, by name and never with a value. */
export class SettingsError extends Error {
  readonly code = 'bad-settings';
  readonly retryable = false;

  constructor(readonly problems: readonly string[]) {
    super(['The settings are wrong:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.name = 'SettingsError';
  }
}
