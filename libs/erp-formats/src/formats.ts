import { b2mml } from './b2mml/b2mml.format.js';
import { canonical } from './canonical/canonical.format.js';
import type { OrderFormat } from './order-format.js';
import { sapIdoc } from './sap-idoc/sap-idoc.format.js';
import { sapOData } from './sap-odata/sap-odata.format.js';
import { umh } from './umh/umh.format.js';

/** In the order of recognition. */
export const FORMATS: readonly OrderFormat[] = [canonical, sapIdoc, b2mml, sapOData, umh];
