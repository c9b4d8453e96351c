import { createHmac } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { loadIngestSettings } from '#libs/config';
import type { ApiError } from '#libs/http-api';
import { temporaryFolder } from '../../../../libs/config/test/temporary-files.js';
import { SenderAccess } from './sender-access.js';

const TOKEN = 'the-token-of-the-erp';

describe('the senders of a file', () => {
  let access: SenderAccess;

  const open = (file: string): void => {
    const environment = { KAFKA_BROKERS: 'kafka:9092', INGEST_SENDERS_FILE: file };
    access = new SenderAccess(loadIngestSettings(environment));
  };

  afterEach(() => {
    access.onApplicationShutdown();
    jest.useRealTimers();
  });

  it('stay while the file cannot be read', () => {
    const mounted = temporaryFolder();
    const file = join(mounted, 'senders.json');
    writeFileSync(file, JSON.stringify({ senders: { erp: { token: TOKEN, paths: ['/orders'] } } }));
    jest.useFakeTimers();
    const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    open(file);
    renameSync(mounted, join(temporaryFolder(), 'elsewhere'));
    // a file in place of the folder: ENOTDIR, like EACCES or ESTALE of a mount, is not plain absence
    writeFileSync(mounted, '');
    jest.advanceTimersByTime(3000);
    expect(logged).toHaveBeenCalledTimes(1);
    const request = { headers: { authorization: `Bearer ${TOKEN}` } } as FastifyRequest;
    expect(access.identifySender(request).sender.name).toBe('erp');
  });

  it('follow a file of a secret that only a changed senders file names', () => {
    const folder = temporaryFolder();
    const [file, tokenFile] = [join(folder, 'senders.json'), join(folder, 'token')];
    const write = (senders: object): void => {
      writeFileSync(file, JSON.stringify({ senders }));
    };
    const erp = { token: TOKEN, paths: ['/orders'] };
    write({ erp });
    jest.useFakeTimers();
    open(file);
    const senderOf = (token: string): string => {
      const request = { headers: { authorization: `Bearer ${token}` } } as FastifyRequest;
      return access.identifySender(request).sender.name;
    };
    write({ erp, mes: { tokenFile, paths: ['/orders'] } });
    jest.advanceTimersByTime(3000);
    // written later, then replaced
    for (const token of ['the-token-of-the-mes', 'the-next-token-of-the-mes']) {
      writeFileSync(tokenFile, token);
      jest.advanceTimersByTime(3000);
      expect([senderOf(token), senderOf(TOKEN)]).toEqual(['mes', 'erp']);
    }
  });

  it('are read again where the file has changed since the settings were read', () => {
    const file = join(temporaryFolder(), 'senders.json');
    const write = (token: string): void => {
      const senders = { erp: { token, paths: ['/orders'] } };
      writeFileSync(file, JSON.stringify({ senders }));
    };
    write('the-former-token-of-the-erp');
    jest.useFakeTimers();
    const environment = { KAFKA_BROKERS: 'kafka:9092', INGEST_SENDERS_FILE: file };
    const settings = loadIngestSettings(environment);
    write(TOKEN);
    access = new SenderAccess(settings);
    jest.advanceTimersByTime(3000);
    const request = { headers: { authorization: `Bearer ${TOKEN}` } } as FastifyRequest;
    expect(access.identifySender(request).sender.name).toBe('erp');
  });

  it('keep others out ever more slowly, whichever address of their network they use', () => {
    const file = join(temporaryFolder(), 'senders.json');
    const senders = { erp: { token: TOKEN, paths: ['/orders'] } };
    writeFileSync(file, JSON.stringify({ senders }));
    open(file);
    const statuses = Array.from({ length: 30 }, (_, host) => {
      const request = { headers: {}, raw: {}, ip: `2001:db8:1:2::${host}` };
      try {
        return access.identifySender(request as unknown as FastifyRequest);
      } catch (error) {
        return (error as ApiError).getStatus();
      }
    });
    expect(statuses.slice(0, 20)).toEqual(Array<number>(20).fill(401));
    expect(statuses).toContain(429);
  });

  it.each([
    ['UTF-8', Buffer.from('größe-1').toString('latin1')],
    ['Latin-1', 'größe-1'],
  ])('sign an id with umlauts that they send as %s', (_, id) => {
    const file = join(temporaryFolder(), 'senders.json');
    const shop = { hmacSecret: 'the-secret-of-the-shop', paths: ['/orders'] };
    writeFileSync(file, JSON.stringify({ senders: { shop } }));
    open(file);
    const [timestamp, body] = [String(Math.floor(Date.now() / 1000)), '{}'];
    const signed = createHmac('sha256', shop.hmacSecret).update(`größe-1.${timestamp}.${body}`);
    const headers = {
      // as Node decodes it
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signed.digest('base64')}`,
    };
    const request = { headers, query: {}, raw: {} } as unknown as FastifyRequest;
    const admission = access.identifySender(request);
    access.verifyBody(admission, request, Buffer.from(body));
    expect(admission).toMatchObject({ sender: { name: 'shop' }, isKnown: true });
  });
});
