import { Module } from '@nestjs/common';
import { FlowControls } from './flow-controls.js';

@Module({ providers: [FlowControls], exports: [FlowControls] })
export class FlowControlModule {}
