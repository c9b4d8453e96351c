import { type EnvironmentReader } from './environment-reader.js';

const NAME = 'MACHINE_CLOUD_MACHINE_INFO_PATH';
const SEGMENTS = /^\/?[A-Za-z0-9._~-]+(\/[A-Za-z0-9._~-]+)*$/;

/** How the service spells the path of its directory, below /api/v1. */
export function readMachineInfoPath(env: EnvironmentReader): string {
  const path = env.text(NAME, 'mahcineInfo');
  const climbs = path.split('/').some((segment) => segment === '.' || segment === '..');
  if (climbs || !SEGMENTS.test(path)) {
    env.problem(NAME, 'must be a path of letters, digits, dots, dashes and underscores');
  } else if (/^\/?api\/v\d+(\/|$)/i.test(path)) {
    env.problem(NAME, 'must not begin with /api/v1: leave that away, the bridge adds it');
  }
  return path;
}
