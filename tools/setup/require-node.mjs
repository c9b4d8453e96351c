// Imported first by every command: says in words what an older Node would say with a stack trace.
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `machine-bridge needs Node 20.19 or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a current one from https://nodejs.org (or: nvm install 24), then run the command again.',
  );
  process.exit(1);
}
