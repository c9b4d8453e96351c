import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '../setup/command.mjs';
import { smallJvm } from './java.mjs';
import { serverProperties } from './server-properties.mjs';

/** Paths of the parts of a local node in its folder. */
export function layoutOf(dir) {
  return {
    data: join(dir, 'data'),
    properties: join(dir, 'server.properties'),
    log: join(dir, 'kafka.log'),
    record: join(dir, 'broker.json'),
  };
}

/** Writes the node's properties, and formats its data folder unless it is formatted. */
export async function prepareFolder({ dir, java, classPath, scramUsers, clusterId, ...addresses }) {
  const { data, properties } = layoutOf(dir);
  await mkdir(dir, { recursive: true });
  await writeFile(properties, serverProperties({ dataDir: data, ...addresses }));
  if (existsSync(join(data, 'meta.properties'))) return;
  // a folder without an identity is a format that was interrupted
  await rm(data, { recursive: true, force: true });
  const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties];
  const users = scramUsers.flatMap(({ mechanism, name, password }) => [
    '--add-scram',
    `${mechanism}=[name=${name},password=${password}]`,
  ]);
  await runTool(java, [...smallJvm(128), '-cp', classPath, ...format, ...users]);
}

/** Moves data aside that Kafka cannot start from, and deletes data that was moved aside earlier. */
export async function moveDataAside(dir) {
  const { data } = layoutOf(dir);
  const aside = `${data}.unreadable`;
  await rm(aside, { recursive: true, force: true });
  await rename(data, aside);
  return aside;
}

export async function hasData(dir) {
  return existsSync(layoutOf(dir).data);
}

export async function readLog(dir) {
  return readFile(layoutOf(dir).log, 'utf8').catch(() => '');
}

export function newClusterId() {
  const id = randomBytes(16).toString('base64url');
  // the tool would take a leading dash for an option
  return id.startsWith('-') ? newClusterId() : id;
}
