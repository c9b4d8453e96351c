/**
 * Counts from the text of the JSON result that Jest writes. A suite that could not run counts as one failed test, and
 * so does a run that failed without a failed test (no result, a missed threshold).
 */
export function countTests(resultText, exitCode) {
  const result = resultText === '' ? {} : JSON.parse(resultText);
  const passed = result.numPassedTests ?? 0;
  const failed = (result.numFailedTests ?? 0) + (result.numRuntimeErrorTestSuites ?? 0);
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}

/** The sum of several runs. No test at all counts as one failed test, because the requested tests are missing. */
export function sumOf(counts) {
  const sum = (key) => counts.reduce((total, each) => total + each[key], 0);
  const [passed, failed] = [sum('passed'), sum('failed')];
  return { passed, failed: passed + failed === 0 ? 1 : failed };
}
