import { parsed, rejected, type OrderMessage, type Parsed } from '#libs/contracts';

import type { OrderFormat, ReadingContext } from '../order-format.js';
import { entitiesOf, type ODataEntity } from './odata-entity.js';
import { isOperation } from './odata-operation.js';
import { readODataOrder } from './odata-order.js';
import { readParts } from './odata-parts.js';

const KEYS = ['ManufacturingOrder', 'ProductionOrder'] as const;

export const sapOData: OrderFormat = {
  name: 'SAP OData production orders',
  mediaTypes: [],
  recognises: (content) => content.syntax === 'json' && isOrderEntity(entitiesOf(content.value)[0]),
  read: (content, context) =>
    content.syntax === 'json'
      ? readEntities(entitiesOf(content.value), context)
      : rejected('invalid-message', 'OData is read as JSON'),
};

function isOrderEntity(entity: ODataEntity | undefined): boolean {
  return entity !== undefined && KEYS.some((key) => Object.hasOwn(entity.fields, key));
}

/** Orders with what hangs on them; or, of an answer that is operations or statuses alone, those by order. */
function readEntities(
  entities: readonly ODataEntity[],
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  const isPart = (entity: ODataEntity) => isOperation(entity) || isStatus(entity);
  const messages: OrderMessage[] = [];
  for (const header of entities.filter((entity) => !isPart(entity))) {
    const order = readODataOrder(header, context);
    if (!order.ok) return order;
    messages.push(order.value);
  }
  const parts = readParts(entities.filter(isPart), context);
  return parts.ok ? parsed([...messages, ...parts.value]) : parts;
}

function isStatus({ fields }: ODataEntity): boolean {
  return Object.hasOwn(fields, 'StatusCode');
}
