import { untilUnreadyBecause } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { startEndlessAnswers } from '../support/tls/endless-answers.js';
import { ServiceBehindTls } from '../support/tls/service-behind-tls.js';

describe('a service behind TLS', () => {
  let service: ServiceBehindTls;

  beforeAll(async () => {
    service = await ServiceBehindTls.start('localhost');
  });

  afterEach(() => service.stopBridge());

  afterAll(() => service.close());

  it('gets lists if the authority of its certificate is trusted', async () => {
    await service.startBridge().ready();
    await service.sendList('4711');
    await service.applies('4711');
  });

  it('has the connection of an abandoned call reset', async () => {
    await service.startBridge().ready();
    await service.sandbox.control.addFault({ operation: 'setWorkOrderList', hang: true, count: 1 });
    const before = service.gateway.ends.length;
    await service.sendList('4712');
    await eventually('a connection is reset', () =>
      service.gateway.ends.slice(before).includes('ECONNRESET'),
    );
    await service.applies('4712');
  });

  it('may repeatedly leave answers unfinished: each call releases its connection', async () => {
    const answers = await startEndlessAnswers(service.identity);
    await service.sendList('4713');
    service.startBridge({ MACHINE_CLOUD_BASE_URL: answers.url });
    await eventually('connections are given up', () => answers.givenUp() > 3);
    await answers.close();
  });

  it('is reported with the fault of an untrusted certificate', async () => {
    await service.sendList('4714');
    const url = await service.startBridge({ NODE_EXTRA_CA_CERTS: '' }).url();
    await untilUnreadyBecause(url, /certificate.*: see NODE_EXTRA_CA_CERTS"/);
  });
});
