import { STATUS_CODES } from 'node:http';
import { ApiProperty } from '@nestjs/swagger';

/** The body of every answer from 400 up; the interface leaves its shape open. */
export class ErrorBody {
  @ApiProperty({ example: 422 }) statusCode!: number;
  @ApiProperty({ example: 'Unprocessable Entity' }) error!: string;
  @ApiProperty({ example: 'machineId should not be empty' }) message!: string;
}

export function errorBody(statusCode: number, message: string): ErrorBody {
  return { statusCode, error: STATUS_CODES[statusCode] ?? 'Error', message };
}
