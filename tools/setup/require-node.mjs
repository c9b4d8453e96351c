// Imported first by every command: a Node that is too old gives a message instead of a stack trace.
const [major, minor] = process.versions.node.split('.').map(Number);
/** First minor version by major version, as in `engines` of package.json; from 24 on, all. */
const FIRST_MINORS = { 20: 19, 22: 13 };

if (major < 24 && !(minor >= FIRST_MINORS[major])) {
  console.error(
    `machine-bridge needs Node 20 from 20.19, 22 from 22.13, or 24 and later; this is Node ${process.versions.node} ` +
      `(${process.execPath}).\n` +
      'Install a current one from https://nodejs.org (or: nvm install 24), then run the command again.',
  );
  process.exit(1);
}
