import {
  applyDecorators,
  BadRequestException,
  Controller,
  UsePipes,
  ValidationPipe,
  type ValidationPipeOptions,
} from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { validationProblems } from '../http/validation-problems.js';

/** Every field at fault is named, unknown ones included: a mistyped fault should not pass for one. */
export const CONTROL_VALIDATION: ValidationPipeOptions = {
  transform: true,
  whitelist: true,
  forbidNonWhitelisted: true,
  // ParseArrayPipe has a text for what is no list
  exceptionFactory: (errors: ValidationError[] | string) =>
    new BadRequestException(
      typeof errors === 'string' ? errors : validationProblems(errors).join('; '),
    ),
};

/**
 * A controller of the sandbox's own API under `/sandbox`. It needs no token: it is a tool for tests
 * and is meant to be reached from the loopback interface alone. A wrong request is a 400.
 */
export function ControlController(path: string): ClassDecorator {
  return applyDecorators(
    Controller(`sandbox/${path}`),
    UsePipes(new ValidationPipe(CONTROL_VALIDATION)),
  );
}
