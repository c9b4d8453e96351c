import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { loadIngestSettings } from '#libs/config';
import { SenderAccess } from './sender-access.js';

const TOKEN = 'the-token-of-the-erp';

describe('the senders of a file', () => {
  const root = mkdtempSync(join(tmpdir(), 'sender-access-'));

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    rmSync(root, { recursive: true });
  });

  it('stay while nobody can look at the file', () => {
    const mounted = join(root, 'mounted');
    mkdirSync(mounted);
    const file = join(mounted, 'senders.json');
    writeFileSync(file, JSON.stringify({ senders: { erp: { token: TOKEN, paths: ['/orders'] } } }));
    const KAFKA_BROKERS = 'kafka:9092';
    const settings = loadIngestSettings({ KAFKA_BROKERS, INGEST_SENDERS_FILE: file });
    jest.useFakeTimers();
    const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const access = new SenderAccess(settings);
    renameSync(mounted, join(root, 'elsewhere'));
    // where a folder was: ENOTDIR, as EACCES or ESTALE of a mount no plain absence
    writeFileSync(mounted, '');
    jest.advanceTimersByTime(3000);
    expect(logged).toHaveBeenCalledTimes(1);
    const request = { headers: { authorization: `Bearer ${TOKEN}` } } as FastifyRequest;
    expect(access.identify(request).sender.name).toBe('erp');
    access.onApplicationShutdown();
  });
});
