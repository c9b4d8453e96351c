import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { Logger } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsEncoding } from '../platform/accepts-encoding.js';

const TYPES: Readonly<Record<string, string | undefined>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};
const COMPRESSIBLE = new Set(['.html', '.js', '.css', '.webmanifest', '.svg']);
/** Names with a hash of the content, made by the build: they never change. */
const ASSETS = '/assets/';

/** A file of the built page; its compressed forms are made on the first request. */
class PageFile {
  private readonly encoded = new Map<'br' | 'gzip', Buffer>();

  constructor(
    readonly path: string,
    private readonly bytes: Buffer,
  ) {}

  sendFile(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const extension = extname(this.path);
    void reply.headers({
      'content-type': TYPES[extension] ?? 'application/octet-stream',
      'cache-control': this.path.startsWith(ASSETS)
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
    });
    if (!COMPRESSIBLE.has(extension)) return reply.send(this.bytes);
    void reply.header('vary', 'accept-encoding');
    const encoding = ENCODINGS.find((name) => acceptsEncoding(request, name));
    if (encoding === undefined) return reply.send(this.bytes);
    const bytes = this.encoded.get(encoding) ?? ENCODERS[encoding](this.bytes);
    this.encoded.set(encoding, bytes);
    return reply.header('content-encoding', encoding).send(bytes);
  }
}

/** In order of preference. */
const ENCODINGS = ['br', 'gzip'] as const;
const ENCODERS = {
  br: (bytes: Buffer) =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => gzipSync(bytes),
};

/** Serves the built page from memory, as read at the start; requests never reach the disk. */
export function servePage(instance: FastifyInstance): void {
  const folder = builtPageFolder();
  const files = readFiles(folder);
  for (const file of files) {
    instance.get(file.path, (request, reply) => file.sendFile(request, reply));
  }
  // a page stored for offline use never requests `/`: this path leads it to a proxy's own sign-in
  instance.get('/sign-in', (_, reply) => reply.redirect('/'));
  const index = files.find(({ path }) => path === '/index.html');
  if (index !== undefined) instance.get('/', (request, reply) => index.sendFile(request, reply));
  else new Logger('Page').warn({ msg: 'the page is not built: npm run build', folder });
}

/** The folder beside the built program; when run from sources, as in tests, the one that a build writes. */
function builtPageFolder(): string {
  const isBuilt = import.meta.url.endsWith('.js');
  const path = isBuilt ? '../../page/' : '../../../../dist/apps/terminal/page/';
  return fileURLToPath(new URL(path, import.meta.url));
}

function readFiles(folder: string): PageFile[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.map'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => {
        const path = `/${file.slice(join(folder, '/').length).replaceAll('\\', '/')}`;
        return new PageFile(path, readFileSync(file));
      });
  } catch {
    return [];
  }
}
