#!/usr/bin/env node
// npx machine-bridge: the commands of apps/cli, built if need be.
process.title = 'machine-bridge';
process.argv.splice(2, 0, 'cli/src/main');
await import('./run-app.mjs');
