import { bundledPackages } from './tools/test/bundle-packages.mjs';

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/tools/test/node-environment.mjs',
  testEnvironmentOptions: { customExportConditions: ['bridge-src', 'node', 'node-addons'] },
  testSequencer: '<rootDir>/tools/test/longest-first.mjs',
  runtime: '<rootDir>/tools/test/runtime.cjs',
  // else in the system's temporary folder, where it is left
  cacheDirectory: '<rootDir>/.local/jest',
  maxWorkers: 2,
  // longer than several waits of a test, so that what does not come true is named
  testTimeout: 600_000,
  restoreMocks: true,
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  setupFilesAfterEnv: [
    '<rootDir>/test/support/served-secrets.ts',
    '<rootDir>/test/support/property-seed.ts',
  ],
  testMatch: ['**/*.spec.ts', '**/*.e2e-spec.ts', '**/*.chaos-spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1', ...(await bundledPackages()) },
  coverageProvider: 'v8',
  collectCoverageFrom: ['{apps,libs}/**/*.ts', '!**/*[.-]spec.ts', '!**/*.d.ts', '!**/testing/**'],
  transform: { '^.+\\.ts$': '@swc/jest' },
};
