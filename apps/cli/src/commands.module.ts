import { Module } from '@nestjs/common';
import { DeadLettersCommand } from './dlq/dead-letters.command.js';
import { ErpCommand } from './erp/erp.command.js';
import { SendCommand } from './send/send.command.js';

/** The commands alone: none of the bridge's rooms, which would connect to Kafka and the service. */
@Module({
  providers: [
    SendCommand,
    ...DeadLettersCommand.registerWithSubCommands(),
    ...ErpCommand.registerWithSubCommands(),
  ],
})
export class CommandsModule {}
