import { Command } from 'nest-commander';
import { BridgeCommand } from '../command-line/bridge-command.js';
import { PreviewCommand } from './preview.command.js';

/** `erp preview`: what an integration engineer does with the ERP's documents before they count. */
@Command({
  name: 'erp',
  // An unknown name is answered below, better than by counting arguments.
  allowExcessArgs: true,
  description: 'Tries ERP documents out.',
  subCommands: [PreviewCommand],
})
export class ErpCommand extends BridgeCommand {
  /** Reached only with a name that is none of a sub-command. */
  run([name]: string[]): Promise<void> {
    if (name !== undefined) this.refuse(`unknown command '${name}': it is preview`);
    return this.command.help({ error: true });
  }
}
