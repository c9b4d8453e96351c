import type { FastifyRequest } from 'fastify';
import { bearerDigests, ownerOf, sha256 } from './bearer-tokens.js';

const TOKEN = 'der-Schlüssel-der-Gießerei';
const OWNERS = [{ name: 'nobody' }, { name: 'foundry', tokenDigest: sha256(TOKEN) }];

describe('the owner of a Bearer token', () => {
  it.each([
    ['in UTF-8', 'bearer  ', Buffer.from(TOKEN), 'foundry'],
    ['in Latin-1', 'Bearer ', Buffer.from(TOKEN, 'latin1'), 'foundry'],
    ['that is another one', 'Bearer ', Buffer.from('guess'), undefined],
  ])('is known by a token %s', (_, scheme, sent, name) => {
    // Node decodes headers as Latin-1
    const headers = { authorization: scheme + sent.toString('latin1') };
    expect(ownerOf(bearerDigests({ headers } as FastifyRequest) ?? [], OWNERS)?.name).toBe(name);
  });
});
