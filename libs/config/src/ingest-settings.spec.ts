import { join } from 'node:path';
import { temporaryFile, temporaryFolder } from '../test/temporary-files.js';
import { SettingsError } from './environment-reader.js';
import { loadIngestSettings } from './ingest-settings.js';
import { ANOTHER_KEY, CERTIFICATE, ENCRYPTED_KEY, KEY_OF_CERTIFICATE } from '../test/tls-files.js';

const TOKEN = 'token-of-sixteen-or-more';

describe('the senders of ingest', () => {
  const missing = join(temporaryFolder(), 'none');

  function problemsOf(senders: object | string): readonly string[] {
    const content = typeof senders === 'string' ? senders : { senders };
    const file = temporaryFile('senders.json', content);
    try {
      loadIngestSettings({ KAFKA_BROKERS: '127.0.0.1:9092', INGEST_SENDERS_FILE: file });
      return [];
    } catch (error) {
      if (error instanceof SettingsError) return error.problems;
      throw error;
    }
  }

  it('may each have a callback', () => {
    const callback = { url: 'https://erp.example.com/outcomes', hmacSecret: TOKEN };
    expect(problemsOf({ a: { token: TOKEN, paths: ['/orders'], callback } })).toEqual([]);
  });

  it('are named with the field whose file is missing', () => {
    const paths = ['/orders'];
    const callback = {
      ...{ url: 'https://erp.example.com', hmacSecret: TOKEN },
      mappingFile: missing,
    };
    expect(
      problemsOf({
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
    expect(problemsOf({ a: sender, b: sender })).toContain(
      `INGEST_SENDERS_FILE has two senders with the same ${what}`,
    );
  });

  it('are each there once', () => {
    const sender = JSON.stringify({ token: TOKEN, paths: ['/orders'] });
    expect(problemsOf(`{"senders": {\n "a": ${sender},\n "a": ${sender}\n}}`)).toEqual([
      'INGEST_SENDERS_FILE names a file in which line 3 repeats a name: keep one of the two',
    ]);
  });

  it('have a secret in one place', () => {
    const hmacSecretFile = temporaryFile('secret', TOKEN);
    const sender = { hmacSecret: `another-${TOKEN}`, hmacSecretFile, paths: ['/orders'] };
    expect(problemsOf({ a: sender })).toEqual([
      'INGEST_SENDERS_FILE sender a has hmacSecret and hmacSecretFile: keep one',
    ]);
  });
});

describe('the certificate of ingest', () => {
  function problemsOf(cert: string, key: string, ca = CERTIFICATE): readonly string[] {
    const [certFile, keyFile, caFile] = Object.entries({ cert, key, ca }).map(([name, pem]) =>
      temporaryFile(name, pem),
    );
    try {
      loadIngestSettings({
        KAFKA_BROKERS: '127.0.0.1:9092',
        ...{ INGEST_TLS_CERT_FILE: certFile, INGEST_TLS_KEY_FILE: keyFile },
        INGEST_TLS_CLIENT_CA_FILE: caFile,
      });
      return [];
    } catch (error) {
      if (error instanceof SettingsError) return error.problems;
      throw error;
    }
  }

  it('goes with its key', () => {
    expect(problemsOf(CERTIFICATE, KEY_OF_CERTIFICATE)).toEqual([]);
    expect(problemsOf(CERTIFICATE, ANOTHER_KEY)).toEqual([
      'INGEST_TLS_KEY_FILE names a file whose key is not that of INGEST_TLS_CERT_FILE',
    ]);
  });

  it('is refused by name where its files hold something else', () => {
    expect(problemsOf(KEY_OF_CERTIFICATE, CERTIFICATE, 'nothing')).toEqual([
      'INGEST_TLS_CERT_FILE names a file that holds no certificate in PEM',
      'INGEST_TLS_KEY_FILE names a file that holds no private key in PEM, or an encrypted one',
      'INGEST_TLS_CLIENT_CA_FILE names a file that holds no certificate in PEM',
    ]);
    expect(problemsOf(CERTIFICATE, ENCRYPTED_KEY)).toEqual([
      'INGEST_TLS_KEY_FILE names a file that holds no private key in PEM, or an encrypted one',
    ]);
  });
});
