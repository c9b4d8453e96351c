import { ApiProperty } from '@nestjs/swagger';
import { IsString } from 'class-validator';

export class LoginRequest {
  @ApiProperty({ example: 'operator@example.com' })
  @IsString()
  userEmail!: string;

  @ApiProperty({ example: 'sandbox-password' })
  @IsString()
  password!: string;
}
