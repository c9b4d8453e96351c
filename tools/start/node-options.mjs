export const BRIDGE_NODE_OPTIONS = ['--heap-growing-percent=40', '--max-semi-space-size=16'];
