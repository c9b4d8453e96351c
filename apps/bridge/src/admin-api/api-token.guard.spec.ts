import { ForbiddenException, UnauthorizedException } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { ApiTokenGuard } from './api-token.guard.js';

function guardWith(token: string): ApiTokenGuard {
  const settings = bridgeSettings({ BRIDGE_API_TOKEN: token });
  return new ApiTokenGuard(settings);
}

const answered: Record<string, string> = {};
const response = {
  header: (name: string, value: string) => {
    answered[name] = value;
  },
};

function requestWith(authorization?: string, host = '127.0.0.1:3000'): ExecutionContextHost {
  const headers = { host, ...(authorization !== undefined && { authorization }) };
  return new ExecutionContextHost([{ headers }, response]);
}

describe('ApiTokenGuard', () => {
  afterEach(() => {
    delete answered['www-authenticate'];
  });

  it.each(['127.0.0.1:3000', 'localhost', '[::1]:3000'])(
    'allows every request to loopback while no token is set: %s',
    (host) => {
      expect(guardWith('').canActivate(requestWith(undefined, host))).toBe(true);
    },
  );

  it.each(['evil.example:3000', 'localhost.evil.example', ''])(
    "refuses another site's name for loopback while no token is set: %j",
    (host) => {
      const enter = (): boolean => guardWith('').canActivate(requestWith(undefined, host));
      expect(enter).toThrow(ForbiddenException);
    },
  );

  it('allows any name to those with the token', () => {
    const request = requestWith('Bearer s3cret', 'bridge.example');
    expect(guardWith('s3cret').canActivate(request)).toBe(true);
  });

  it.each(['Bearer s3cret', 'bearer s3cret', 'BEARER s3cret', 'Bearer  s3cret'])(
    'allows a request with the token as Bearer, in any case: %j',
    (authorization) => {
      expect(guardWith('s3cret').canActivate(requestWith(authorization))).toBe(true);
    },
  );

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    's3cret',
    'Basic s3cret',
    'Bearers3cret',
    'Bearer s3cre',
    'Bearer s3crets',
    'Bearer S3CRET',
    'Bearer s3cret\u0000',
  ])('keeps out %j, and does not say what it expects', (authorization) => {
    const guard = guardWith('s3cret');
    const enter = (): boolean => guard.canActivate(requestWith(authorization));
    expect(enter).toThrow(UnauthorizedException);
    expect(enter).not.toThrow('s3cret');
    expect(answered).toEqual({ 'www-authenticate': 'Bearer' });
  });
});
