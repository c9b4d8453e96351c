// Builds the terminal's page into dist/apps/terminal/page, with hashed names, nothing inline, and a service worker that
// caches the shell.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vite';

const PAGE = import.meta.dirname;

export default defineConfig({
  root: PAGE,
  plugins: [shellOfServiceWorker()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: join(PAGE, '../../../dist/apps/terminal/page'),
    emptyOutDir: true,
    target: 'es2022',
    // data: URLs would need more than default-src 'self'
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: join(PAGE, 'index.html'), sw: join(PAGE, 'src/service-worker.ts') },
      output: {
        entryFileNames: ({ name }) => (name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'),
      },
    },
  },
});

/** Writes the shell's list of files into sw.js, with a version that changes with any of them. */
function shellOfServiceWorker() {
  return {
    name: 'shell-of-service-worker',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const built = Object.keys(bundle).filter(
        (file) => !/^(sw\.js|index\.html)$|\.map$/.test(file),
      );
      const shell = [
        '/',
        ...[...built, ...readdirSync(join(PAGE, 'public'))].map((file) => `/${file}`),
      ].sort();
      const html = bundle['index.html']?.source ?? '';
      // the service worker recognises the page of its version by these
      if (!built.every((file) => !file.startsWith('assets/') || html.includes(file))) {
        throw new Error('index.html does not name all files in assets/');
      }
      const version = createHash('sha256')
        .update(shell.join())
        .update(html)
        .digest('hex')
        .slice(0, 12);
      const worker = bundle['sw.js'];
      worker.code = worker.code
        .replaceAll('__SHELL__', JSON.stringify(shell))
        .replaceAll('__VERSION__', JSON.stringify(version));
    },
  };
}
