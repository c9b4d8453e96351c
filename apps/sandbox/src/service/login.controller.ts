import { Body, Inject, UnauthorizedException } from '@nestjs/common';
import { ApiOkResponse, ApiProperty } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import type { SandboxSettings } from '#libs/config';
import { TokenRegistry } from './token-registry.js';
import { AnswerOptions } from './answer-options.js';
import { LoginAnswer } from './answers.js';
import { ServiceController } from './service-controller.decorator.js';
import { ServiceOperation } from './service-operation.decorator.js';

class LoginRequest {
  @ApiProperty({ example: 'operator@example.com' })
  @IsString()
  userEmail!: string;

  @ApiProperty({ example: 'sandbox-password' })
  @IsString()
  password!: string;
}

export const LOGIN = Symbol('login');

@ServiceController('login')
export class LoginController {
  constructor(
    private readonly tokens: TokenRegistry,
    private readonly options: AnswerOptions,
    @Inject(LOGIN) private readonly login: SandboxSettings['login'],
  ) {}

  @ServiceOperation('getAPIToken', 'POST', {
    summary: 'Issues an access token with all scopes.',
    causes: { 401: 'Wrong e-mail address or password.', 422: 'A field is missing.' },
  })
  @ApiOkResponse({ type: LoginAnswer })
  getAPIToken(@Body() { userEmail, password }: LoginRequest): LoginAnswer {
    if (userEmail !== this.login.email || password !== this.login.password) {
      throw new UnauthorizedException('wrong e-mail address or password');
    }
    return { token: this.tokens.issueToken(this.options.tokenLifetimeSeconds ?? Infinity) };
  }
}
