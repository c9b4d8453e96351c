import {
  applyDecorators,
  BadRequestException,
  Controller,
  UsePipes,
  ValidationPipe,
  type ValidationPipeOptions,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, type ValidationError } from 'class-validator';
import { validationProblems } from '../http/validation-problems.js';

/** Names every invalid or unknown field: a fault with a mistyped field must not be accepted. */
export const CONTROL_VALIDATION: ValidationPipeOptions = {
  transform: true,
  whitelist: true,
  forbidNonWhitelisted: true,
  // ParseArrayPipe passes a text where the body is not a list
  exceptionFactory: (errors: ValidationError[] | string) =>
    new BadRequestException(
      typeof errors === 'string' ? errors : validationProblems(errors).join('; '),
    ),
};

/**
 * A controller of the control API under `/sandbox`. Needs no token, because the API is for tests and is reached only
 * from the loopback interface. An invalid request is a 400.
 */
export function ControlController(path: string): ClassDecorator {
  return applyDecorators(
    ApiExcludeController(),
    Controller(`sandbox/${path}`),
    UsePipes(new ValidationPipe(CONTROL_VALIDATION)),
  );
}

/** An optional whole number in a query, in decimal digits: `Number` would also read `0x10`, `1e2` and an empty text. */
export function QueryInteger(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value,
    ),
    IsInt(),
  );
}
