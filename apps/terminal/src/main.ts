import { loadTerminalSettings, readEnvironment } from '#libs/config';
import { runProgram } from '#libs/program';
import { createTerminal } from './create-terminal.js';

await runProgram({
  title: 'The terminal',
  logContext: 'Terminal',
  portSetting: 'TERMINAL_HTTP_PORT',
  create: () => createTerminal(loadTerminalSettings(readEnvironment())),
});
