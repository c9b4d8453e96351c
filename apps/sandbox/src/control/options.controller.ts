import { Body, Get, Put } from '@nestjs/common';
import { IsBoolean, IsNumber, IsOptional, Min } from 'class-validator';
import { AnswerOptions } from '../service/index.js';
import { ControlController } from './control-controller.decorator.js';

class OptionsRequest {
  @IsOptional() @IsBoolean() durationJitter?: boolean;
  @IsOptional() @IsBoolean() clipActivityLog?: boolean;
  @IsOptional() @IsNumber() @Min(0) tokenLifetimeSeconds?: number | null;
}

@ControlController('options')
export class OptionsController {
  constructor(private readonly options: AnswerOptions) {}

  @Get()
  get(): AnswerOptions {
    const { durationJitter, clipActivityLog, tokenLifetimeSeconds } = this.options;
    return { durationJitter, clipActivityLog, tokenLifetimeSeconds };
  }

  /** Changes the options given, leaves the others. */
  @Put()
  change(@Body() request: OptionsRequest): AnswerOptions {
    const { durationJitter, clipActivityLog, tokenLifetimeSeconds } = request;
    this.options.durationJitter = durationJitter ?? this.options.durationJitter;
    this.options.clipActivityLog = clipActivityLog ?? this.options.clipActivityLog;
    if (tokenLifetimeSeconds !== undefined)
      this.options.tokenLifetimeSeconds = tokenLifetimeSeconds;
    return this.get();
  }
}
