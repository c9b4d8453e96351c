import {
  applyDecorators,
  BadRequestException,
  Controller,
  UsePipes,
  ValidationPipe,
} from '@nestjs/common';
import { validationProblems } from '../http/validation-problems.js';

/**
 * A controller of the sandbox's own API under `/sandbox`. It needs no token: it is a tool for tests
 * and is meant to be reached from the loopback interface alone. A wrong request is a 400 that names
 * every field at fault, unknown ones included: a mistyped fault should not pass for one.
 */
export function ControlController(path: string): ClassDecorator {
  const pipe = new ValidationPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    exceptionFactory: (errors) => new BadRequestException(validationProblems(errors).join('; ')),
  });
  return applyDecorators(Controller(`sandbox/${path}`), UsePipes(pipe));
}
