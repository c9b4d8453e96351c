import type { BridgeSettings } from '#libs/config';
import { type EnrichmentRule, enrichmentUrl } from '#libs/erp-formats';
import { ErpClient } from './erp-client.js';

/** The client of the ERP that a rule asks. */
export function openErpClient(
  rule: EnrichmentRule,
  { erpAccess, machineCloud }: Pick<BridgeSettings, 'erpAccess' | 'machineCloud'>,
): ErpClient {
  const { headers, timeoutMs, maxAnswerBytes, concurrency } = rule;
  const access = erpAccess.get(rule.name);
  return new ErpClient({
    ...{ origin: new URL(enrichmentUrl(rule, {})).origin, headers, timeoutMs, maxAnswerBytes },
    maxConnections: concurrency,
    credentials: access?.credentials ?? { kind: 'none' },
    ca: access?.ca,
    proxy: rule.proxy ? machineCloud.proxy : undefined,
  });
}
