import { request, type IncomingHttpHeaders } from 'node:http';
import { afterRealMs, realDelayMs } from '#libs/clock';
import type { Chance } from './chance.js';

export interface WholeAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Whether an answer is unexpected, or asks to wait without saying how long. */
export function isUnexpected(
  { status, headers }: WholeAnswer,
  expected: ReadonlySet<number>,
): boolean {
  const mustSayWhen = status === 429 || status === 503;
  return !expected.has(status) || (mustSayWhen && !(Number(headers['retry-after']) > 0));
}

/** A suspended process answers nobody. */
const PATIENCE_MS = 8000;
const LONGEST_PAUSE_MS = 3000;
const SHORT_PATIENCE_MS = 500;

/**
 * Posts as clients do on a bad network: most at once; some pause within the body, some disconnect during the pause, and
 * some do not wait for the answer. Undefined if no complete answer came.
 */
export async function postOddly(
  url: string,
  headers: Record<string, string>,
  body: string,
  chance: Chance,
): Promise<WholeAnswer | undefined> {
  const pausesAmid = chance.happens(0.15);
  const leavesAmid = pausesAmid && chance.happens(0.3);
  const pauseMs = pausesAmid ? chance.upTo(LONGEST_PAUSE_MS) : 0;
  const patienceMs = chance.happens(0.1) ? chance.upTo(SHORT_PATIENCE_MS) : PATIENCE_MS;
  const bytes = Buffer.from(body);
  const middle = bytes.length >> 1;
  const length = String(bytes.length);
  return new Promise((resolve) => {
    const posting = request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, 'content-length': length },
    });
    const leave = (): void => {
      posting.destroy();
      resolve(undefined);
    };
    const cancel = afterRealMs(pauseMs + patienceMs, leave);
    posting.on('error', leave).on('close', cancel);
    posting.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece)).on('error', leave);
      response.on('end', () => {
        const { statusCode: status = 0, headers: answered } = response;
        resolve({ status, headers: answered, body: Buffer.concat(pieces).toString() });
      });
    });
    posting.write(bytes.subarray(0, middle));
    void realDelayMs(pauseMs).then(() => {
      if (leavesAmid) leave();
      else if (!posting.destroyed) posting.end(bytes.subarray(middle));
    });
  });
}
