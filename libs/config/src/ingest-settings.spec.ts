import { join } from 'node:path';
import { problemsOf } from '../test/problems-of.js';
import { temporaryFile, temporaryFolder } from '../test/temporary-files.js';
import { ANOTHER_KEY, CERTIFICATE, KEY_OF_CERTIFICATE } from '../test/tls-files.js';
import type { Environment } from './environment-reader.js';
import { loadIngestSettings } from './ingest-settings.js';

const TOKEN = 'token-of-sixteen-or-more';

const problemsWith = (environment: Environment) =>
  problemsOf(() => loadIngestSettings({ KAFKA_BROKERS: '127.0.0.1:9092', ...environment }));

describe('the senders of ingest', () => {
  const missing = join(temporaryFolder(), 'none');

  function problemsOfSenders(senders: object | string): readonly string[] {
    const content = typeof senders === 'string' ? senders : { senders };
    return problemsWith({ INGEST_SENDERS_FILE: temporaryFile('senders.json', content) });
  }

  it('may each have a callback', () => {
    const callback = { url: 'https://erp.example.com/outcomes', hmacSecret: TOKEN };
    expect(problemsOfSenders({ a: { token: TOKEN, paths: ['/orders'], callback } })).toEqual([]);
  });

  it('are named with the field whose file is missing', () => {
    const paths = ['/orders'];
    const callback = {
      ...{ url: 'https://erp.example.com', hmacSecret: TOKEN },
      mappingFile: missing,
    };
    expect(
      problemsOfSenders({
        a: { token: TOKEN, hmacSecretFile: missing, paths },
        b: { token: `${TOKEN}-of-b`, paths, callback },
      }),
    ).toEqual([
      'INGEST_SENDERS_FILE sender a hmacSecretFile names a file that cannot be read (ENOENT)',
      'INGEST_SENDERS_FILE sender b callback mappingFile names a file that cannot be read (ENOENT)',
    ]);
  });

  it.each([
    ['token', { token: TOKEN }],
    ['certificate', { certificateSha256: 'ab'.repeat(32) }],
  ])('must not share a %s, which would let one send as the other', (what, identity) => {
    const sender = { ...identity, paths: ['/orders'] };
    expect(problemsOfSenders({ a: sender, b: sender })).toContain(
      `INGEST_SENDERS_FILE has two senders with the same ${what}`,
    );
  });

  it('are each listed once', () => {
    const sender = JSON.stringify({ token: TOKEN, paths: ['/orders'] });
    expect(problemsOfSenders(`{"senders": {\n "a": ${sender},\n "a": ${sender}\n}}`)).toEqual([
      'INGEST_SENDERS_FILE names a file in which line 3 repeats a name: keep one of the two',
    ]);
  });

  it('have each secret in one place', () => {
    const hmacSecretFile = temporaryFile('secret', TOKEN);
    const sender = { hmacSecret: `another-${TOKEN}`, hmacSecretFile, paths: ['/orders'] };
    expect(problemsOfSenders({ a: sender })).toEqual([
      'INGEST_SENDERS_FILE sender a has hmacSecret and hmacSecretFile: keep one',
    ]);
  });
});

describe('the certificate of ingest', () => {
  function problemsOfFiles(cert: string, key: string, ca = CERTIFICATE): readonly string[] {
    return problemsWith({
      INGEST_TLS_CERT_FILE: temporaryFile('cert', cert),
      INGEST_TLS_KEY_FILE: temporaryFile('key', key),
      INGEST_TLS_CLIENT_CA_FILE: temporaryFile('ca', ca),
    });
  }

  it('goes with its key', () => {
    expect(problemsOfFiles(CERTIFICATE, KEY_OF_CERTIFICATE)).toEqual([]);
    expect(problemsOfFiles(CERTIFICATE, ANOTHER_KEY)).toEqual([
      'INGEST_TLS_KEY_FILE names a file whose key is not that of INGEST_TLS_CERT_FILE',
    ]);
  });

  it('is refused with the name of a setting whose file is not PEM', () => {
    expect(problemsOfFiles(KEY_OF_CERTIFICATE, CERTIFICATE, 'nothing')).toEqual([
      'INGEST_TLS_CERT_FILE names a file that holds no certificate in PEM',
      'INGEST_TLS_KEY_FILE names a file that holds no private key in PEM, or an encrypted one',
      'INGEST_TLS_CLIENT_CA_FILE names a file that holds no certificate in PEM',
    ]);
  });
});
