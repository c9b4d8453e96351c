import type { BridgeSettings } from '#libs/config';
import { type ErpAnswer, openErpClient } from '#libs/erp-client';
import { type EnrichmentRule, enrichmentUrl } from '#libs/erp-formats';
import type { Finding } from '../command-line/findings.js';

/** What stands in an address for an order, a plant or a company: it leads to nothing, or is refused as no number. */
const NO_ORDER = 'machine-bridge-check';
const FILE = 'ERP_ENRICHMENT_FILE';

/** Asks each ERP that completes orders for one that it does not have; nothing without enrichment rules. */
export async function checkErps(settings: BridgeSettings): Promise<Finding[]> {
  if (!settings.flows.has('work-orders')) return [];
  return Promise.all(settings.erp.enrichment.all.map((rule) => checkErp(rule, settings)));
}

async function checkErp(rule: EnrichmentRule, settings: BridgeSettings): Promise<Finding> {
  const client = openErpClient(rule, settings);
  try {
    const names = new Proxy<Record<string, string>>({}, { get: () => NO_ORDER });
    const { pathname, search } = new URL(enrichmentUrl(rule, names));
    const answer = await client.get(`${pathname}${search}`, new AbortController().signal);
    return { check: `erp ${rule.name}`, ...findingOf(rule, answer) };
  } finally {
    await client.close();
  }
}

function findingOf(rule: EnrichmentRule, answer: ErpAnswer): Omit<Finding, 'check'> {
  const { name } = rule;
  const { origin } = new URL(enrichmentUrl(rule, {}));
  switch (answer.kind) {
    case 'document':
    case 'nothing':
      return { status: 'ok', detail: `${origin} answers` };
    case 'gone':
      return {
        status: 'ok',
        detail: `${origin} answers ${answer.status} to an order it lacks; a wrong url would have that answer, too`,
      };
    case 'refused':
      // a key that is no number, or a login that the rule does not have: the ERP may mean either
      return {
        status: 'warn',
        detail: `${origin}: ${answer.why} to an order it lacks`,
        remedy: `nothing if it answers so to orders it lacks, else correct url and headers of rule ${name} in ${FILE}`,
      };
    case 'unauthorised':
      return {
        status: 'fail',
        detail: `${origin}: ${answer.why}`,
        remedy:
          answer.status === 401
            ? `correct auth of rule ${name} in ${FILE}, or the secret that it names`
            : `grant the login of rule ${name} to read production orders`,
      };
    case 'retry':
      return {
        status: 'fail',
        detail: `${origin}: ${answer.why}`,
        remedy: `correct url, caFile and proxy of rule ${name} in ${FILE}, or start the ERP`,
        ...(answer.status === null && { isUnreachable: true }),
      };
    default:
      return answer satisfies never;
  }
}
