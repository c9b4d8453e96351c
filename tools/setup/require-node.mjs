// Imported first by every command: says in words what another Node would say with a stack trace.
const [major, minor] = process.versions.node.split('.').map(Number);
/** By major version, as `engines` of package.json has it; all from 24 on. */
const FIRST_MINORS = { 20: 19, 22: 13 };

if (major < 24 && !(minor >= FIRST_MINORS[major])) {
  console.error(
    `machine-bridge needs Node 20 from 20.19, 22 from 22.13, or 24 and later; this is Node ${process.versions.node} ` +
      `(${process.execPath}).\n` +
      'Install a current one from https://nodejs.org (or: nvm install 24), then run the command again.',
  );
  process.exit(1);
}
