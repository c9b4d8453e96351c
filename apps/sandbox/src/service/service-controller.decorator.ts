import { applyDecorators, Controller, UseInterceptors, UsePipes } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { NoDataInterceptor } from './no-data.interceptor.js';
import { RequestPipe } from './request.pipe.js';

/** A controller of operations under the version segment of the interface. */
export function ServiceController(tag: string): ClassDecorator {
  return applyDecorators(
    ApiTags(tag),
    Controller('api/v1'),
    UsePipes(RequestPipe),
    UseInterceptors(NoDataInterceptor),
  );
}
