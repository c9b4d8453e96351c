import { isJsonObject, parsed, rejected, type OrderMessage, type Parsed } from '#libs/contracts';

import type { OrderFormat, ReadingContext } from '../document/order-format.js';
import { entitiesOf, type ODataEntity } from './odata-entity.js';
import { isOperation } from './odata-operation.js';
import { readODataOrder } from './odata-order.js';
import { readParts } from './odata-parts.js';

const KEYS = ['ManufacturingOrder', 'ProductionOrder'] as const;

export const sapOData: OrderFormat = {
  name: 'SAP OData production orders',
  mediaTypes: [],
  recognises: (content) => content.syntax === 'json' && isAnswer(content.value),
  read: (content, context) =>
    content.syntax === 'json'
      ? readEntities(entitiesOf(content.value), context)
      : rejected('invalid-message', 'OData is read as JSON'),
};

/** By its first entity; an envelope with none is an answer too. */
function isAnswer(json: unknown): boolean {
  const [first] = entitiesOf(json);
  if (first === undefined) return isJsonObject(json);
  return KEYS.some((key) => Object.hasOwn(first.fields, key));
}

/** Orders with what hangs on them; or, of an answer that is operations or statuses alone, those by order. */
function readEntities(
  entities: readonly ODataEntity[],
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  if (entities.length === 0) return rejected('invalid-message', 'the OData answer holds no order');
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
