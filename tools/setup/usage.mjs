/**
 * Ends the command with its usage: with 0 where `--help` asks for it, with 1 where there are arguments and none is taken.
 */
export function showUsage(usage, { takesArguments = false, args = process.argv.slice(2) } = {}) {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage);
    process.exit(0);
  }
  if (takesArguments || args.length === 0) return;
  console.error(`There is no argument ${args.join(' ')}.\n\n${usage}`);
  process.exit(1);
}
