// Before each file of properties: they have the same cases each time, so that nothing but a change makes one fail.
if (expect.getState().testPath?.endsWith('.properties.spec.ts') === true) {
  const { configureGlobal } = (await import('fast-check')).default;
  configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 1) });
}
