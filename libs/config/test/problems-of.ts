import { SettingsError } from '../src/environment-reader.js';

/** What is wrong with the settings that are loaded; nothing where they can be. */
export function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}
