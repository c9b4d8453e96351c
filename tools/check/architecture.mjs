// Checks that the picture in docs/architecture.md shows the present imports (`--write` draws it again), and that no two
// folders import each other.
import { ROOT, say } from '../setup/command.mjs';
import { importsOf, mutualFolders } from './architecture/imports.mjs';
import { isCurrent, PAGE, redrawn, write } from './architecture/picture.mjs';

const imports = await importsOf(ROOT);
const page = redrawn(ROOT, imports);
if (process.argv.includes('--write')) write(ROOT, page);
else if (!isCurrent(ROOT, page)) {
  say(`${PAGE}: the picture is out of date, run: node tools/check/architecture.mjs --write`);
  process.exitCode = 1;
}
for (const [one, other] of mutualFolders(imports)) {
  say(`${one} and ${other} import each other`);
  process.exitCode = 1;
}
