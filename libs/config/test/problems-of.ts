import { SettingsError } from '../src/environment-reader.js';

/** The problems of settings that fail to load; empty where they load. */
export function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}
