import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { loadIngestSettings } from '#libs/config';
import { temporaryFolder } from '../../../../libs/config/test/temporary-files.js';
import { SenderAccess } from './sender-access.js';

const TOKEN = 'the-token-of-the-erp';

describe('the senders of a file', () => {
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('stay while nobody can look at the file', () => {
    const mounted = temporaryFolder();
    const file = join(mounted, 'senders.json');
    writeFileSync(file, JSON.stringify({ senders: { erp: { token: TOKEN, paths: ['/orders'] } } }));
    const KAFKA_BROKERS = 'kafka:9092';
    const settings = loadIngestSettings({ KAFKA_BROKERS, INGEST_SENDERS_FILE: file });
    jest.useFakeTimers();
    const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const access = new SenderAccess(settings);
    renameSync(mounted, join(temporaryFolder(), 'elsewhere'));
    // where a folder was: ENOTDIR, as EACCES or ESTALE of a mount no plain absence
    writeFileSync(mounted, '');
    jest.advanceTimersByTime(3000);
    expect(logged).toHaveBeenCalledTimes(1);
    const request = { headers: { authorization: `Bearer ${TOKEN}` } } as FastifyRequest;
    expect(access.identify(request).sender.name).toBe('erp');
    access.onApplicationShutdown();
  });
});
