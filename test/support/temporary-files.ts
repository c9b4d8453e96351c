export * from '../../libs/config/test/temporary-files.js';
