import { type FromFiles, SettingsError, versionOf } from './environment-reader.js';

/** Files that are read again once they have changed and stayed equal between two checks. */
export class WatchedFiles<T> {
  /** Of the files as they were read, or could not be. */
  private version: string;
  private seen: string | undefined;

  constructor(
    private readonly settings: FromFiles<T>,
    private readonly use: (value: T) => void,
  ) {
    this.version = settings.version;
  }

  /** Returns why changed files cannot be used, once for each change. */
  checkFiles(): string | undefined {
    const version = versionOf(this.settings.files);
    const isStable = version === this.seen;
    this.seen = version;
    if (version === this.version || !isStable) return undefined;
    this.version = version;
    try {
      this.use(this.settings.readAgain());
      return undefined;
    } catch (error) {
      return error instanceof SettingsError ? error.problems.join('; ') : String(error);
    }
  }
}
