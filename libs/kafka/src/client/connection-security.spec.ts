import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadBridgeSettings } from '#libs/config';
import { temporaryFolder } from '../../../config/test/temporary-files.js';
import { secureConnections } from './connection-security.js';

describe('the files of the Kafka login', () => {
  it('are named while they cannot be read', () => {
    const mounted = temporaryFolder();
    writeFileSync(join(mounted, 'password'), 'hush');
    const { kafka } = loadBridgeSettings({
      ...{ KAFKA_BROKERS: 'kafka:9092', KAFKA_SASL_MECHANISM: 'plain' },
      ...{ KAFKA_SASL_USERNAME: 'bridge', KAFKA_SASL_PASSWORD_FILE: join(mounted, 'password') },
      ...{ KAFKA_SSL: 'true', MACHINE_CLOUD_BASE_URL: 'https://cloud', MACHINE_CLOUD_TOKEN: 't' },
    });
    const { fileProblems } = secureConnections(kafka);
    expect(fileProblems()).toEqual([]);
    renameSync(mounted, join(temporaryFolder(), 'elsewhere'));
    // where a folder was: ENOTDIR, as EACCES or ESTALE of a mount no plain absence
    writeFileSync(mounted, '');
    expect(fileProblems()).toEqual([expect.stringContaining('KAFKA_SASL_PASSWORD_FILE')]);
  });
});
