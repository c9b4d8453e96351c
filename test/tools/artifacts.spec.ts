import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const TOOLS = resolve(import.meta.dirname, '../../tools');

/** Fetches one jar; then it hangs or fails where a file beside it says so. */
const MAVEN = `#!/bin/sh
for arg; do case $arg in -DoutputDirectory=*) folder=\${arg#*=};; esac; done
echo jar > "$folder/kafka.jar"
if [ -e "$0.hangs" ]; then exec sleep 600; fi
[ ! -e "$0.fails" ]
`;

describe('what Maven fetches of Kafka', () => {
  let root: string;
  let maven: string;
  let folder: string;

  beforeEach(() => {
    root = temporaryFolder();
    // a copy of the tools keeps what it fetches beside itself
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

  it('is cleared away by the next command where a Ctrl-C has cut the first one short', async () => {
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

  it('stays where the process that fetches it is alive, also once Kafka is there', async () => {
    const others = `artifacts-00000000.${process.pid}`;
    mkdirSync(join(folder, others), { recursive: true });
    expect(await fetchArtifacts().ended).toEqual([0, null]);
    expect(await fetchArtifacts().ended).toEqual([0, null]);
    expect(folders().sort()).toEqual([others, finished]);
  });

  it('leaves nothing behind where it fails', async () => {
    writeFileSync(`${maven}.fails`, '');
    expect(await fetchArtifacts().ended).toEqual([1, null]);
    expect(folders()).toEqual([]);
  });
});
