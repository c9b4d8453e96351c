import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { documentsIn } from './documents-in.js';

describe('documents to preview', () => {
  const folder = mkdtempSync(join(tmpdir(), 'documents-in-'));

  beforeAll(() => {
    // As Kubernetes mounts a ConfigMap.
    mkdirSync(join(folder, '..2025_11_21'));
    writeFileSync(join(folder, '..2025_11_21', '2.json'), '{}');
    symlinkSync('..2025_11_21', join(folder, '..data'));
    symlinkSync(join('..data', '2.json'), join(folder, '2.json'));
    writeFileSync(join(folder, '1.json'), '{}');
    writeFileSync(join(folder, '.DS_Store'), '');
    mkdirSync(join(folder, 'sub'));
    symlinkSync('nowhere', join(folder, 'broken'));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it('are the files of a folder by name, links to files among them', async () => {
    const { documents } = await documentsIn([folder, join(folder, '1.json')]);
    expect(documents).toEqual(['1.json', '2.json', '1.json'].map((name) => join(folder, name)));
  });

  it('are not what is hidden, nor folders, nor what is not there, and it says so', async () => {
    const { skipped } = await documentsIn([folder]);
    expect(skipped).toEqual(
      [
        '..2025_11_21: hidden',
        '..data: hidden',
        '.DS_Store: hidden',
        'broken: a link to nothing',
        'sub: a folder in a folder',
      ].map((line) => join(folder, line)),
    );
  });
});
