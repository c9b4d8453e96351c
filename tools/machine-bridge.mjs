#!/usr/bin/env node
// npx machine-bridge: runs the commands of apps/cli; builds them first if necessary.
process.title = 'machine-bridge';
process.argv.splice(2, 0, 'cli/src/main');
await import('./run-app.mjs');
