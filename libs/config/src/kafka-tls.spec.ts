import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANOTHER_KEY, CERTIFICATE, ENCRYPTED_KEY, KEY_OF_CERTIFICATE } from '../test/tls-files.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readTls } from './kafka-settings.js';

const [CA, CERT, KEY] = ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'] as const;

describe('readTls', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kafka-tls-'));
  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const cert = file('cert.pem', `subject=somebody\n${CERTIFICATE}\n${CERTIFICATE}\n`);
  const key = file('key.pem', `${KEY_OF_CERTIFICATE}\n`);
  const text = file('text.pem', 'a certificate\n');

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const read = (environment: Environment) => {
    const env = new EnvironmentReader(environment);
    return { settings: readTls(env), problems: env.problems };
  };
  const problemsOf = (environment: Environment): string[] =>
    read({ KAFKA_SSL: 'true', ...environment }).problems;

  it("trusts the system's authorities unless it is given others", () => {
    expect(read({ KAFKA_SSL: 'true' })).toEqual({ settings: {}, problems: [] });
    const { settings, problems } = read({
      KAFKA_SSL: 'true',
      [CA]: cert,
      [CERT]: cert,
      [KEY]: key,
    });
    expect(problems).toEqual([]);
    expect(settings?.ca).toContain(CERTIFICATE);
    expect(settings?.cert).toContain(CERTIFICATE);
    expect(settings?.key).toBe(KEY_OF_CERTIFICATE.trim());
  });

  it.each([CA, CERT, KEY])('does not let %s go unused, be it readable or not', (name) => {
    for (const path of [cert, join(folder, 'missing.pem')]) {
      expect(read({ [name]: path }).problems).toContain(
        'KAFKA_SSL must be true when KAFKA_SSL_…_FILE settings are given',
      );
    }
  });

  it('asks for certificate and key together', () => {
    expect(problemsOf({ [CERT]: cert })).toEqual([`${KEY} is required: ${CERT} is set`]);
    expect(problemsOf({ [KEY]: key })).toEqual([`${CERT} is required: ${KEY} is set`]);
  });

  it('names the file that cannot be read', () => {
    expect(problemsOf({ [CA]: join(folder, 'missing.pem') })).toEqual([
      `${CA} names a file that cannot be read (ENOENT)`,
    ]);
  });

  it('names each file that holds no PEM', () => {
    expect(problemsOf({ [CA]: text, [CERT]: text, [KEY]: text })).toEqual([
      `${CERT} names a file that holds no certificate in PEM`,
      `${KEY} names a file that holds no private key in PEM, or an encrypted one`,
      `${CA} names a file that holds no certificate in PEM`,
    ]);
  });

  it('names files that hold something else, or something broken', () => {
    const broken = file('broken.pem', `${CERTIFICATE}\n${CERTIFICATE.replace('MIIB', 'AAAA')}`);
    expect(problemsOf({ [CA]: key })).toEqual([
      `${CA} names a file that holds no certificate in PEM`,
    ]);
    expect(problemsOf({ [CA]: broken })).toHaveLength(1);
    const encrypted = file('encrypted.pem', ENCRYPTED_KEY);
    expect(problemsOf({ [CERT]: cert, [KEY]: encrypted })).toEqual([
      `${KEY} names a file that holds no private key in PEM, or an encrypted one`,
    ]);
  });

  it('sees that a key is of another certificate', () => {
    expect(problemsOf({ [CERT]: cert, [KEY]: file('another.pem', ANOTHER_KEY) })).toEqual([
      `${KEY} names a file whose key is not that of ${CERT}`,
    ]);
  });

  it('finds the key after what OpenSSL writes before it', () => {
    const parameters =
      '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----';
    const both = file('both.pem', `${parameters}\n${KEY_OF_CERTIFICATE}`);
    expect(problemsOf({ [CERT]: cert, [KEY]: both })).toEqual([]);
  });
});
