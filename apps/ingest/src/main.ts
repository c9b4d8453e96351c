import { loadIngestSettings, readEnvironment } from '#libs/config';
import { runProgram } from '#libs/program';
import { createIngest } from './create-ingest.js';

await runProgram({
  title: 'Ingest',
  logContext: 'Ingest',
  portSetting: 'INGEST_HTTP_PORT',
  create: () => createIngest(loadIngestSettings(readEnvironment())),
});
