import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { buildApps } from '../setup/build.mjs';
import { ROOT, runTool } from '../setup/command.mjs';

/** Contents of the Secrets that the chart does not create, and of files in its values that the programs read. */
const CONTENTS = {
  'kafka-ca.pem': 'certificate',
  INGEST_SENDERS: '{"senders": {"sap": {"token": "a-token-of-a-sender", "paths": ["/orders"]}}}',
  INGEST_TLS_CERT: 'certificate',
  INGEST_TLS_KEY: 'key',
  TERMINAL_TOKENS: '{"a-token-of-a-station": "station-1"}',
};
const LOADERS = {
  bridge: 'loadBridgeSettings',
  terminal: 'loadTerminalSettings',
  ingest: 'loadIngestSettings',
};

export function objectsOf(manifests) {
  return parseAllDocuments(manifests)
    .map((document) => document.toJS())
    .filter(Boolean);
}

/**
 * Checks that each program accepts the settings of its pods, and finds the files that they name where they are mounted.
 *
 * @throws SettingsError of the program
 */
export async function checkChartSettings(manifests) {
  await buildApps();
  const config = await import(join(ROOT, 'dist/libs/config/src/index.js'));
  const objects = objectsOf(manifests);
  const pem = await makeCertificate();
  for (const { spec } of objects.filter(({ kind }) => kind === 'Deployment')) {
    const pod = spec.template.spec;
    const [{ name, envFrom }] = pod.containers;
    const root = await mkdtemp(join(tmpdir(), 'machine-bridge-pod-'));
    try {
      for (const { path, text } of filesOf(pod, objects)) {
        await mkdir(join(root, path, '..'), { recursive: true });
        await writeFile(
          join(root, path),
          pem[CONTENTS[text.key]] ?? CONTENTS[text.key] ?? text.value,
        );
      }
      const settings = Object.entries(dataOf(objects, envFrom[0].configMapRef.name));
      const inRoot = (value) => (/^\/(etc|run)\//.test(value) ? join(root, value) : value);
      config[LOADERS[name]](
        Object.fromEntries(settings.map(([setting, value]) => [setting, inRoot(value)])),
      );
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  }
}

/** Checks that pods are replaced when settings or files change, also the pods that get the bridge's files. */
export function checkRestarts(before, after) {
  const [former, present] = [before, after].map(objectsOf);
  for (const { kind, metadata, spec } of present) {
    if (kind !== 'Deployment') continue;
    const earlier = former.find((it) => it.kind === kind && it.metadata.name === metadata.name);
    const mounted = [earlier, { spec }].map(({ spec: { template } }, at) =>
      filesOf(template.spec, [former, present][at]),
    );
    const restarts = !isDeepStrictEqual(earlier.spec.template, spec.template);
    if (restarts !== !isDeepStrictEqual(...mounted)) {
      throw new Error(
        `${metadata.name}: ${restarts ? 'restarts for nothing' : 'does not restart'}`,
      );
    }
  }
}

/** Checks for two objects of the same kind and name: one would overwrite the other. */
export function checkNames(manifests) {
  const names = objectsOf(manifests).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  if (twice.length > 0) throw new Error(`twice: ${twice.join(', ')}`);
  const long = names.filter((name) => /^Service \S{64}/.test(name));
  if (long.length > 0) throw new Error(`more than 63 characters: ${long.join(', ')}`);
}

/** Files that are mounted in a pod: `{path, text: {key, value}}`; `value` is undefined for a Secret. */
function filesOf(pod, objects) {
  return pod.containers[0].volumeMounts.flatMap(({ name, mountPath }) => {
    const { configMap, secret } = pod.volumes.find((volume) => volume.name === name);
    const files = configMap
      ? Object.entries(dataOf(objects, configMap.name))
      : (secret?.items ?? []).map(({ key }) => [key, 'a-secret']);
    return files.map(([key, value]) => ({ path: join(mountPath, key), text: { key, value } }));
  });
}

function dataOf(objects, name) {
  return objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name).data;
}

async function makeCertificate() {
  const folder = await mkdtemp(join(tmpdir(), 'machine-bridge-certificate-'));
  try {
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
    const key = join(folder, 'key.pem');
    const certificate = await runTool('openssl', [
      ...args,
      ...['-noenc', '-subj', '/CN=test', '-keyout', key],
    ]);
    return { certificate, key: await runTool('cat', [key]) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
