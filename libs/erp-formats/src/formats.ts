import { b2mml } from './b2mml/b2mml.format.js';
import { canonical } from './canonical/canonical.format.js';
import type { OrderFormat } from './order-format.js';
import { sapIdoc } from './sap-idoc/sap-idoc.format.js';
import { sapOData } from './sap-odata/sap-odata.format.js';
import { umh } from './umh/umh.format.js';

/** In the order of recognition; the canonical form comes last and takes all JSON that is no other. */
export const FORMATS: readonly OrderFormat[] = [sapIdoc, b2mml, sapOData, umh, canonical];
