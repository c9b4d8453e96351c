import { Agent } from 'node:http';
import { Controller } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import axios from 'axios';

/** A controller as the documentation of Nest shows one; decorators are called, for nothing here is compiled. */
export function reasonsController(topic, serviceUrl) {
  const service = axios.create({
    baseURL: `${serviceUrl}/api/v1`,
    headers: { authorization: 'Bearer bench-token' },
    httpAgent: new Agent({ keepAlive: true }),
  });

  class ReasonsController {
    async apply(reason) {
      await service.post('/machineClassification', reason);
    }
  }

  const { prototype } = ReasonsController;
  const method = Object.getOwnPropertyDescriptor(prototype, 'apply');
  Controller()(ReasonsController);
  EventPattern(topic)(prototype, 'apply', method);
  Payload()(prototype, 'apply', 0);
  return ReasonsController;
}
