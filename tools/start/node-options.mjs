export const NODE_OPTIONS = {
  bridge: ['--heap-growing-percent=40', '--max-semi-space-size=16'],
  ingest: ['--max-semi-space-size=32'],
};
