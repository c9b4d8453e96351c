import { Module } from '@nestjs/common';
import { CommandOutcomes } from './command-outcomes.js';

@Module({ providers: [CommandOutcomes], exports: [CommandOutcomes] })
export class CommandDeliveryModule {}
