export const NODE_OPTIONS = {
  bridge: [
    '--heap-growing-percent=40',
    '--max-semi-space-size=16',
    '--no-allocation-site-pretenuring',
  ],
  ingest: ['--max-semi-space-size=32'],
};
