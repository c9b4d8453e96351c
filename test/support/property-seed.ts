// Runs before each file of properties. Their cases are the same each time, so that only a change makes one fail.
if (expect.getState().testPath?.endsWith('.properties.spec.ts') === true) {
  const { configureGlobal } = (await import('fast-check')).default;
  configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 1) });
}
