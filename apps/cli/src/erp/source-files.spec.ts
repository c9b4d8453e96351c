import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../../../libs/config/test/temporary-files.js';
import { findSourceFiles } from './source-files.js';

describe('documents to preview', () => {
  const folder = temporaryFolder();
  const file = (name: string) => {
    writeFileSync(join(folder, name), '{}');
  };

  beforeAll(() => {
    // As Kubernetes mounts a ConfigMap.
    mkdirSync(join(folder, '..2025_11_21'));
    file('..2025_11_21/2.json');
    symlinkSync('..2025_11_21', join(folder, '..data'));
    symlinkSync(join('..data', '2.json'), join(folder, '2.json'));
    file('1.json');
    file('.DS_Store');
    mkdirSync(join(folder, 'sap', 'odata'), { recursive: true });
    file('sap/odata/4.json');
    file('sap/3.json');
    file('sap/.hidden');
    mkdirSync(join(folder, 'sap', 'empty'));
    symlinkSync('..', join(folder, 'sap', 'up'));
    file('sap.json');
    symlinkSync('nowhere', join(folder, 'broken'));
  });

  const namesIn = async (...paths: string[]) =>
    (await findSourceFiles(paths)).files.map(({ name }) => name);

  it('are the files of a folder and of the folders in it by name, links to files among them', async () => {
    const names = ['1.json', '2.json', 'sap.json', 'sap/3.json', 'sap/odata/4.json'];
    const { files } = await findSourceFiles([folder]);
    expect(files).toEqual(names.map((name) => ({ name, path: join(folder, name) })));
  });

  it('are distinguished by the folder where several paths are given, in the order of these', async () => {
    const sap = join(folder, 'sap');
    expect(await namesIn(join(folder, '1.json'))).toEqual([join(folder, '1.json')]);
    expect(await namesIn(sap, join(folder, '1.json'))).toEqual(
      ['sap/3.json', 'sap/odata/4.json', '1.json'].map((name) => join(folder, name)),
    );
  });

  it('are not what is hidden, linked folders, nor what is not there, and it says so', async () => {
    const { skipped } = await findSourceFiles([folder]);
    expect(skipped).toEqual([
      '..2025_11_21: hidden',
      '..data: hidden',
      '.DS_Store: hidden',
      'broken: a link to nothing',
      'sap/.hidden: hidden',
      'sap/up: a link to a folder',
    ]);
  });

  it('are refused where a folder holds too many', async () => {
    await expect(findSourceFiles([folder], 5)).rejects.toThrow(
      'holds more than 5 files and folders',
    );
  });
});
