// Before each file of tests: properties have the same cases each time, so that nothing but a change makes one fail.
if (expect.getState().testPath?.endsWith('.properties.spec.ts') === true) {
  const { configureGlobal } = (await import('fast-check')).default;
  configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 1) });
}
