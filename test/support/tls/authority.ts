import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { realEpochMs } from '#libs/clock';
import { contextTag, der, objectIdentifier } from './der.js';

/** Certificate and private key, as PEM texts. */
export interface Identity {
  certificate: string;
  key: string;
}

export interface Wanted {
  /** The subject: brokers take it as the name of a client. */
  name: string;
  /** Host names and IPv4 addresses for which it is valid. */
  hosts?: readonly string[];
  /** Days from now until it expires; negative for an expired one. */
  days?: number;
}

const DAY_MS = 86_400_000;
const VALID_BEFORE_DAYS = 30;
const ECDSA_WITH_SHA256 = der('sequence', objectIdentifier('1.2.840.10045.4.3.2'));
const COMMON_NAME = objectIdentifier('2.5.4.3');
const ALTERNATIVE_NAMES = objectIdentifier('2.5.29.17');
const BASIC_CONSTRAINTS = objectIdentifier('2.5.29.19');
const TRUE = der('boolean', Buffer.from([0xff]));

/**
 * Issues certificates (X.509 v3, RFC 5280) for a test. Node signs but writes no certificates, and neither openssl nor a
 * JDK's keytool, which does not export a private key, is always available.
 */
export class Authority {
  readonly certificate: string;
  private readonly keys = newKeys();

  constructor(private readonly name: string) {
    const mayIssue = extension(BASIC_CONSTRAINTS, der('sequence', TRUE));
    this.certificate = this.issue({ name, days: 1 }, this.keys.publicKey, [mayIssue]);
  }

  identify(wanted: Wanted): Identity {
    const { publicKey, privateKey } = newKeys();
    const hosts = (wanted.hosts ?? []).map(toGeneralName);
    const names =
      hosts.length === 0 ? [] : [extension(ALTERNATIVE_NAMES, der('sequence', ...hosts))];
    return {
      certificate: this.issue(wanted, publicKey, names),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    };
  }

  private issue({ name, days = 1 }: Wanted, key: KeyObject, extensions: Buffer[]): string {
    const content = der(
      'sequence',
      der(contextTag(0, 'constructed'), der('integer', Buffer.from([2]))),
      der('integer', Buffer.from([1]), randomBytes(8)),
      ECDSA_WITH_SHA256,
      distinguishedName(this.name),
      der('sequence', inDays(days - VALID_BEFORE_DAYS), inDays(days)),
      distinguishedName(name),
      key.export({ type: 'spki', format: 'der' }),
      ...(extensions.length === 0
        ? []
        : [der(contextTag(3, 'constructed'), der('sequence', ...extensions))]),
    );
    const signature = sign('sha256', content, this.keys.privateKey);
    const unusedBits = Buffer.from([0]);
    return toPem(
      der('sequence', content, ECDSA_WITH_SHA256, der('bitString', unusedBits, signature)),
    );
  }
}

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function distinguishedName(name: string): Buffer {
  const attribute = der('sequence', COMMON_NAME, der('utf8String', Buffer.from(name)));
  return der('sequence', der('set', attribute));
}

/** Every extension is critical: a client that does not know one must refuse the certificate. */
function extension(id: Buffer, value: Buffer): Buffer {
  return der('sequence', id, TRUE, der('octetString', value));
}

function toGeneralName(host: string): Buffer {
  return isIPv4(host)
    ? der(contextTag(7, 'primitive'), Buffer.from(host.split('.').map(Number)))
    : der(contextTag(2, 'primitive'), Buffer.from(host));
}

function inDays(days: number): Buffer {
  const time = new Date(realEpochMs() + days * DAY_MS).toISOString();
  // it has years of two digits
  return der('utcTime', Buffer.from(time.slice(2).replace(/[-:T]|\.\d+/g, '')));
}

function toPem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
