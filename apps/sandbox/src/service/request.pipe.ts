import {
  type ArgumentMetadata,
  Injectable,
  UnprocessableEntityException,
  ValidationPipe,
} from '@nestjs/common';
import { validationProblems } from '../http/validation-problems.js';

/**
 * Checks a query or body against its class. What is well-formed JSON but not a request the
 * operation understands is a 422, as the interface has it for missing and contradicting fields;
 * fields it does not know are tolerated.
 */
@Injectable()
export class RequestPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      stopAtFirstError: true,
      exceptionFactory: (errors) =>
        new UnprocessableEntityException(validationProblems(errors).join('; ')),
    });
  }

  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (metadata.type === 'body' && value !== undefined && !isObject) {
      throw new UnprocessableEntityException('the body must be a JSON object');
    }
    return super.transform(value, metadata) as Promise<unknown>;
  }
}
