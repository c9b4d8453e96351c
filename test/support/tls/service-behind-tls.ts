import type { Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../app-process.js';
import { bridgeEnvironment } from '../bridge-environment.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../kafka.js';
import { type RunningSandbox, startSandbox } from '../running-sandbox.js';
import { Authority, type Identity } from './authority.js';
import { type ServiceGateway, startServiceGateway } from './service-gateway.js';
import { temporaryFile } from '../../../libs/config/test/temporary-files.js';

/** A sandbox behind TLS, with bridges whose lists are for one machine. */
export class ServiceBehindTls {
  readonly machineId = 'M-001';
  /** Settings of further bridges. */
  env: Environment;
  private running: AppProcess | undefined;

  private constructor(
    readonly kafka: TestKafka,
    readonly sandbox: RunningSandbox,
    readonly gateway: ServiceGateway,
    /** The certificate, which bridges trust. */
    readonly identity: Identity,
    caFile: string,
  ) {
    const { topicPrefix } = kafka;
    const sandboxUrl = gateway.url;
    this.env = {
      ...bridgeEnvironment({ topicPrefix, partitions: 1, sandboxUrl }),
      BRIDGE_FLOWS: 'work-orders',
      MACHINE_CLOUD_TIMEOUT_MS: '5000',
      NODE_EXTRA_CA_CERTS: caFile,
    };
  }

  /** @param hosts of the certificate */
  static async start(...hosts: string[]): Promise<ServiceBehindTls> {
    const authority = new Authority('Cloud CA');
    const identity = authority.identify({ name: 'cloud', hosts });
    const caFile = temporaryFile('ca.pem', authority.certificate);
    const sandbox = await startSandbox();
    const gateway = await startServiceGateway(sandbox.control.url, identity);
    const kafka = new TestKafka(testBrokers(), uniqueTopicPrefix());
    await kafka.topics.createMissing(1, TOPICS.workOrderLists, TOPICS.commandOutcomes);
    return new ServiceBehindTls(kafka, sandbox, gateway, identity, caFile);
  }

  startBridge(extra: Environment = {}): AppProcess {
    return (this.running = new AppProcess('bridge', { ...this.env, ...extra }));
  }

  async stopBridge(): Promise<void> {
    await this.running?.close();
  }

  sendList(...workingOrders: string[]): Promise<void> {
    return this.kafka.sendList(this.machineId, workingOrders);
  }

  /** Waits until the service has this list. */
  applies(...workingOrders: string[]): Promise<void> {
    return this.sandbox.control.listBecomes(this.machineId, workingOrders);
  }

  async close(): Promise<void> {
    await this.gateway.close();
    await this.sandbox.close();
    await this.kafka.close();
  }
}
