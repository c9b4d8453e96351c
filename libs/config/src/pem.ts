import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

const LABEL = '(?:X509 |TRUSTED )?CERTIFICATE';
const CERTIFICATE = new RegExp(`-----BEGIN ${LABEL}-----.+?-----END ${LABEL}-----`, 'gs');
const PRIVATE_KEY = /-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----.+?-----END \1PRIVATE KEY-----/s;

/** All certificates of a PEM text; undefined when there is none, or one that is broken. */
export function parseCertificates(pem: string): X509Certificate[] | undefined {
  const blocks = pem.match(CERTIFICATE);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** Undefined when the text holds no private key, or one that asks for a passphrase. */
export function parsePrivateKey(pem: string): KeyObject | undefined {
  // OpenSSL may write other blocks before it, such as the parameters of its curve
  const [block] = PRIVATE_KEY.exec(pem) ?? [];
  try {
    return block === undefined ? undefined : createPrivateKey(block);
  } catch {
    return undefined;
  }
}
