import js from '@eslint/js';
import prettier from 'eslint-config-prettier/flat';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';
import { eslintWalls } from './tools/check/eslint-walls.mjs';

const NODE_GLOBALS = Object.fromEntries(
  ['AbortController', 'AbortSignal', 'Buffer', 'clearInterval', 'clearTimeout', 'console', 'fetch']
    .concat(['performance', 'process', 'setInterval', 'setTimeout', 'URL', 'URLSearchParams'])
    .map((name) => [name, 'readonly']),
);

export default defineConfig(
  // packages and examples are compiled by npm run test:deploy, as a subscriber would
  globalIgnores(['dist/', 'coverage/', '.local/', 'packages/', 'examples/']),
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Nest's option objects (NestApplicationContextOptions) are declared as classes
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // process.env['X'] is what noPropertyAccessFromIndexSignature-style code writes
      '@typescript-eslint/dot-notation': 'off',
    },
  },
  {
    files: ['**/*.spec.ts', '**/*.e2e-spec.ts', '**/*.chaos-spec.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  ...eslintWalls,
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: { globals: NODE_GLOBALS },
    rules: {
      'no-unused-vars': 'error',
      'prefer-const': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  prettier,
);
