import { Module } from '@nestjs/common';
import { SendCommand } from './send.command.js';

/** The commands alone: none of the bridge's rooms, which would connect to Kafka and the service. */
@Module({ providers: [SendCommand] })
export class CommandsModule {}
