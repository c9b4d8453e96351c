import { Body, Get, Put } from '@nestjs/common';
import { IsBoolean, IsOptional } from 'class-validator';
import { AnswerOptions } from '../service/index.js';
import { ControlController } from './control-controller.decorator.js';

class OptionsRequest {
  @IsOptional() @IsBoolean() durationJitter?: boolean;
  @IsOptional() @IsBoolean() clipActivityLog?: boolean;
}

@ControlController('options')
export class OptionsController {
  constructor(private readonly options: AnswerOptions) {}

  @Get()
  get(): AnswerOptions {
    const { durationJitter, clipActivityLog } = this.options;
    return { durationJitter, clipActivityLog };
  }

  /** Changes the options given, leaves the others. */
  @Put()
  change(@Body() { durationJitter, clipActivityLog }: OptionsRequest): AnswerOptions {
    this.options.durationJitter = durationJitter ?? this.options.durationJitter;
    this.options.clipActivityLog = clipActivityLog ?? this.options.clipActivityLog;
    return this.get();
  }
}
