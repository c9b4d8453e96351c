import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { realEpochMs } from '#libs/clock';

export const CLIENT_ID = 'plant-bridge';
export const CLIENT_SECRET = 'hunter2-of-the-oauth-client';

/** An OAuth server for client credentials, whose tokens a broker checks with the keys at `jwksUrl`. */
export interface TokenServer {
  tokenUrl: string;
  jwksUrl: string;
  /** Lifetime of tokens issued from now on. */
  lifeSeconds: number;
  /** Whether tokens issued from now on are signed with another key than the broker expects. */
  isForging: boolean;
  secret: string;
  /** While set, requests for a token get this status. */
  fault: number | undefined;
  /** Tokens in the order of their issue. */
  readonly issued: readonly string[];
  close: () => Promise<void>;
}

export async function startTokenServer(lifeSeconds: number): Promise<TokenServer> {
  const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { privateKey, publicKey } = newKeys();
  const { privateKey: foreignKey } = newKeys();
  const kid = randomUUID();
  const jwks = {
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }],
  };
  const issued: string[] = [];

  const issue = (): string => {
    const now = Math.floor(realEpochMs() / 1000);
    const claims = {
      ...{ iss: 'plant-identity', sub: CLIENT_ID, iat: now },
      ...{ exp: now + tokens.lifeSeconds, scope: 'kafka', jti: randomUUID() },
    };
    const parts = [{ alg: 'RS256', typ: 'JWT', kid }, claims];
    const content = parts.map((part) => encode(JSON.stringify(part))).join('.');
    const key = tokens.isForging ? foreignKey : privateKey;
    const token = `${content}.${encode(sign('sha256', Buffer.from(content), key))}`;
    issued.push(token);
    return token;
  };

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    response.setHeader('Content-Type', 'application/json');
    const [, credentials = ''] = request.headers.authorization?.split(' ') ?? [];
    const given = Buffer.from(credentials, 'base64').toString();
    if (request.url === '/jwks') response.end(JSON.stringify(jwks));
    else if (tokens.fault !== undefined) response.writeHead(tokens.fault).end();
    else if (given !== `${CLIENT_ID}:${tokens.secret}`) {
      response.writeHead(401).end('{"error":"invalid_client"}');
    } else {
      const grant = { access_token: issue(), token_type: 'Bearer', expires_in: tokens.lifeSeconds };
      response.end(JSON.stringify(grant));
    }
  };

  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tokens: TokenServer = {
    ...{ tokenUrl: `${url}/token`, jwksUrl: `${url}/jwks`, lifeSeconds, issued },
    ...{ isForging: false, secret: CLIENT_SECRET, fault: undefined },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return tokens;
}

function encode(content: string | Buffer): string {
  return Buffer.from(content).toString('base64url');
}
