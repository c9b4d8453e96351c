import { createPrivateKey, generateKeyPairSync } from 'node:crypto';

/** Self-signed, valid for a hundred years, used only in tests. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBjjCCATWgAwIBAgIUAaTx79JGhU4qTshpWmg1vyxhtZswCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRa2Fma2EuZXhhbXBsZS5jb20wIBcNMjYxMTIxMTc0OTAwWhgP
MjEyNjEwMjgxNzQ5MDBaMBwxGjAYBgNVBAMMEWthZmthLmV4YW1wbGUuY29tMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEpTi+8aIAVoG1SOXR4MI/5dhEJmbZd7xg
E7jonUVZTIDf552TZHiuxJ5g8XX6zJykhAOWBOr5AuIHpMYaKaSaeKNTMFEwHQYD
VR0OBBYEFKeC8/wplKP/F4q4xfwbnP5nc0UhMB8GA1UdIwQYMBaAFKeC8/wplKP/
F4q4xfwbnP5nc0UhMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIg
fUoGHjoXsOyOff4tUUo18Rbd0p644KEgZ/Y1ZpkVFYoCIA1gITG0zY9k17QUub0C
gWedAH9NXK0uij1NSqO0Rv1d
-----END CERTIFICATE-----`;

const pem = { format: 'pem', type: 'pkcs8' } as const;

export const KEY_OF_CERTIFICATE = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: 'pTi-8aIAVoG1SOXR4MI_5dhEJmbZd7xgE7jonUVZTIA',
    y: '3-edk2R4rsSeYPF1-sycpIQDlgTq-QLiB6TGGimkmng',
    d: 'RzHLcbJC70ZahoGkuS52cuOuMLNjxSR1zjEYSEbTSWU',
  },
}).export(pem) as string;

export const ANOTHER_KEY = generateKeyPairSync('ed25519').privateKey.export(pem) as string;

export const ENCRYPTED_KEY = generateKeyPairSync('ed25519').privateKey.export({
  ...pem,
  cipher: 'aes-256-cbc',
  passphrase: 'hunter2',
}) as string;
