import { loadBridgeSettings } from '#libs/config';
import { OrderMapping } from '#libs/erp-formats';
import { OrderPreview } from './order-preview.js';

describe('the preview of a document', () => {
  const { erp } = loadBridgeSettings({
    KAFKA_BROKERS: 'localhost:1',
    MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
    MACHINE_CLOUD_TOKEN: 'a-token',
  });

  it('rejects an order that the document repeats too often for its operations, as the bridge does', async () => {
    const operations = Array.from({ length: 10_000 }, (_, index) => ({
      ...{ ManufacturingOrderOperation: `${index}`, WorkCenter: 'M-1' },
    }));
    const status = { ManufacturingOrder: '4711', OrderIsLocked: 'X' };
    const whole = { ...status, to_ProductionOrderOperation: operations };
    const body = Buffer.from(JSON.stringify([whole, ...Array<object>(2000).fill(status)]));
    const none = {
      evaluate: () => Promise.reject(new Error('none')),
      closeEvaluator: () => undefined,
    };
    const mapping = new OrderMapping([], none);
    const document = { contentType: null, body, recordedAt: 1_700_000_000 };
    const previewed = await new OrderPreview(erp, mapping).previewDocument(document);
    expect(previewed).toMatchObject({
      value: { machineIds: [], rejections: [{ code: 'too-large' }] },
    });
  });
});
