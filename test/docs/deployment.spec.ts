import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const operations = read('docs/operations.md');

/** Node's options in a command line, before the program. */
const optionsOf = (command = '') =>
  [...command.matchAll(/ (--[\w-]+(?:=\S+)?)/g)].map(([, it]) => it);

describe.each([
  ['bridge', 'machine-bridge'],
  ['terminal', 'machine-terminal'],
  ['ingest', 'machine-ingest'],
])('the systemd unit of the %s', (app, name) => {
  const unit = read(`deploy/systemd/${name}.service`);
  const [, start = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];

  it('starts the program with the options of npm run', () => {
    expect(start).toMatch(new RegExp(`^/usr/bin/node .* dist/apps/${app}/src/main\\.js$`));
    expect(optionsOf(start)).toEqual(optionsOf(scripts[`start:${app}`]));
  });

  it('does not start it again with wrong settings, and lets it stop in time', () => {
    expect(unit).toMatch(/^RestartPreventExitStatus=78$/m);
    expect(operations).toMatch(/^\| 78 /m);
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(20);
  });
});

describe('the images', () => {
  const [stages = '', images = ''] = read('Dockerfile').split(/^FROM scratch AS runtime$/m);

  // in a clone under umask 027, only the owner may read files
  it('do not copy file modes of the clone, with which their user may not read the files', () => {
    const copies = images.match(/^COPY .*/gm) ?? [];
    expect(copies.length).toBeGreaterThan(3);
    expect(copies.filter((copy) => !copy.startsWith('COPY --from='))).toEqual([]);
    const built = [...images.matchAll(/^COPY --from=build (.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    );
    const [, readable = ''] = /chmod -R a\+rX (.+)$/m.exec(stages) ?? [];
    expect(readable.split(' ').map((name) => `/app/${name}`)).toEqual(built.toSorted());
  });
});
