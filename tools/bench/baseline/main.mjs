// What the framework gives for nothing, for comparison: Nest's own Kafka transport and one awaited call a message.
// Usage: node main.mjs <brokers> <topic> <group> <service's URL> <port for /metrics>
import 'reflect-metadata';
import { createServer } from 'node:http';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Transport } from '@nestjs/microservices';
import { collectDefaultMetrics, register } from 'prom-client';
import { reasonsController } from './reasons.controller.mjs';

const PARTITIONS = 6;
const [brokers, topic, groupId, serviceUrl, port] = process.argv.slice(2);

class BaselineModule {}
Module({ controllers: [reasonsController(topic, serviceUrl)] })(BaselineModule);

const app = await NestFactory.createMicroservice(BaselineModule, {
  logger: ['warn', 'error'],
  transport: Transport.KAFKA,
  options: {
    client: { brokers: brokers.split(',') },
    consumer: { groupId },
    subscribe: { fromBeginning: true },
    // the most its loop can do: a message at a time of each partition; by default it is one of all
    run: { partitionsConsumedConcurrently: PARTITIONS },
  },
});
await app.listen();

collectDefaultMetrics();
createServer(async (request, response) => response.end(await register.metrics())).listen(
  Number(port),
  '127.0.0.1',
);
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
