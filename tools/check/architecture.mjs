// Whether the picture in docs/architecture.md shows the imports as they are; `--write` draws it anew.
import { ROOT } from '../setup/root.mjs';
import { say } from '../setup/steps.mjs';
import { isCurrent, PAGE, redrawn, write } from './architecture/picture.mjs';

const page = await redrawn(ROOT);
if (process.argv.includes('--write')) write(ROOT, page);
else if (!isCurrent(ROOT, page)) {
  say(`${PAGE}: the picture is out of date, run: node tools/check/architecture.mjs --write`);
  process.exitCode = 1;
}
