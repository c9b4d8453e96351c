import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const TOOLS = resolve(import.meta.dirname, '../../tools');

/** Fetches one jar, and then hangs or fails if a file beside it says so. */
const MAVEN = `#!/bin/sh
for arg; do case $arg in -DoutputDirectory=*) folder=\${arg#*=};; esac; done
echo jar > "$folder/kafka.jar"
if [ -e "$0.hangs" ]; then exec sleep 600; fi
[ ! -e "$0.fails" ]
`;

describe('the folder that Maven fills with Kafka', () => {
  let root: string;
  let maven: string;
  let folder: string;

  beforeEach(() => {
    root = temporaryFolder();
    // a copy of the tools keeps its fetched files beside itself
    for (const part of ['kafka', 'process', 'setup']) {
      cpSync(join(TOOLS, part), join(root, 'tools', part), { recursive: true });
    }
    folder = join(root, '.local/kafka');
    maven = join(root, 'mvn');
    writeFileSync(maven, MAVEN, { mode: 0o755 });
  });

  const fetchArtifacts = () => {
    const program = `
      const { fetchArtifacts } = await import(${JSON.stringify(join(root, 'tools/kafka/artifacts.mjs'))});
      console.log(await fetchArtifacts(${JSON.stringify(maven)}));
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    return { child, said: text(child.stdout), ended: once(child, 'exit') };
  };
  const folders = () => (existsSync(folder) ? readdirSync(folder) : []);
  const finished = expect.stringMatching(/^artifacts-[0-9a-f]{8}$/) as string;

  it('is removed by the next command when a Ctrl-C interrupted the first one', async () => {
    writeFileSync(`${maven}.hangs`, '');
    const first = fetchArtifacts();
    const left = await eventually(() =>
      folders().find((name) => existsSync(join(folder, name, 'kafka.jar'))),
    );
    expect(left).toMatch(new RegExp(`\\.${first.child.pid}$`));
    first.child.kill('SIGINT');
    await first.ended;
    rmSync(`${maven}.hangs`);

    const second = fetchArtifacts();
    expect(await second.ended).toEqual([0, null]);
    expect(folders()).toEqual([finished]);
    expect(await second.said).toBe(`${join(folder, folders()[0] ?? '', '*')}\n`);
  });

  it('stays while the process that fills it is alive, also when Kafka is there', async () => {
    const others = `artifacts-00000000.${process.pid}`;
    mkdirSync(join(folder, others), { recursive: true });
    expect(await fetchArtifacts().ended).toEqual([0, null]);
    expect(await fetchArtifacts().ended).toEqual([0, null]);
    expect(folders().sort()).toEqual([others, finished]);
  });

  it('does not remain when Maven fails', async () => {
    writeFileSync(`${maven}.fails`, '');
    expect(await fetchArtifacts().ended).toEqual([1, null]);
    expect(folders()).toEqual([]);
  });
});
