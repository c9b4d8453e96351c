import { Module } from '@nestjs/common';
import { FlowControls } from './flow-controls.js';
import { GroupShares } from './flow-shares.js';

@Module({ providers: [FlowControls, GroupShares], exports: [FlowControls, GroupShares] })
export class FlowControlModule {}
