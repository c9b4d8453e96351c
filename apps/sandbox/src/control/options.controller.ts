import { Body, Get, Put } from '@nestjs/common';
import { IsBoolean, IsNumber, IsOptional, Max, Min } from 'class-validator';
import { LONGEST_SHIFT_SECONDS } from '../plant/limits.js';
import { AnswerOptions } from '../service/answer-options.js';
import { ControlController } from './control-controller.decorator.js';

class OptionsRequest {
  @IsOptional() @IsBoolean() durationJitter?: boolean;
  @IsOptional() @IsBoolean() clipActivityLog?: boolean;
  @IsOptional() @IsNumber() @Min(0) tokenLifetimeSeconds?: number | null;
  @IsOptional()
  @IsNumber()
  @Min(-LONGEST_SHIFT_SECONDS)
  @Max(LONGEST_SHIFT_SECONDS)
  clockOffsetSeconds?: number;
  @IsOptional() @IsBoolean() dateHeader?: boolean;
}

@ControlController('options')
export class OptionsController {
  constructor(private readonly options: AnswerOptions) {}

  @Get()
  get(): AnswerOptions {
    return this.options;
  }

  @Put()
  changeOptions(@Body() request: OptionsRequest): AnswerOptions {
    const { options } = this;
    options.durationJitter = request.durationJitter ?? options.durationJitter;
    options.clipActivityLog = request.clipActivityLog ?? options.clipActivityLog;
    options.clockOffsetSeconds = request.clockOffsetSeconds ?? options.clockOffsetSeconds;
    options.dateHeader = request.dateHeader ?? options.dateHeader;
    if (request.tokenLifetimeSeconds !== undefined)
      options.tokenLifetimeSeconds = request.tokenLifetimeSeconds;
    return this.get();
  }
}
