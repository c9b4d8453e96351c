import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

interface ErpOrder {
  machineId: string;
  /** 14 digits in UTC; if absent, answers contain no time. */
  changed?: string;
  isDeleted?: boolean;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** The entity of SAP's OData service, with its operation. */
export function orderEntity(orderId: string, order: ErpOrder): object {
  const { machineId, changed, isDeleted = false } = order;
  const operation = {
    ...{ ManufacturingOrder: orderId, ManufacturingOrderOperation: '0010' },
    ...{ OperationIsReleased: 'X', ProductionPlant: '1000', WorkCenter: machineId },
  };
  return {
    ...{ ManufacturingOrder: orderId, OrderIsReleased: 'X' },
    ...(isDeleted && { OrderIsDeleted: 'X' }),
    ...(changed !== undefined && { LastChangeDateTime: changed }),
    to_ProductionOrderOperation: { results: [operation] },
  };
}

/** An ERP that answers GETs for orders (`/orders/<id>`), or gives the answers of a test. */
export class ErpServer {
  readonly orders = new Map<string, ErpOrder>();
  /** Answers that replace orders, by order; `*` stands for all others. */
  readonly faults = new Map<string, Answer>();
  /** Requested orders with the headers, in order. */
  readonly asked: {
    orderId: string;
    authorization: string | undefined;
    headers: IncomingHttpHeaders;
  }[] = [];
  /** The most GETs of one order that were under way together. */
  mostAtOnce = 0;
  private readonly underWay = new Map<string, number>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<ErpServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const erp = new ErpServer(server, `http://127.0.0.1:${port}`);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      erp.handle(request, response);
    });
    return erp;
  }

  askedFor(orderId: string): number {
    return this.asked.filter((each) => each.orderId === orderId).length;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '/', this.url).pathname;
    const orderId = decodeURIComponent(path.split('/').at(-1) ?? '');
    const { headers } = request;
    this.asked.push({ orderId, authorization: headers.authorization, headers });
    const now = (this.underWay.get(orderId) ?? 0) + 1;
    this.underWay.set(orderId, now);
    this.mostAtOnce = Math.max(this.mostAtOnce, now);
    response.on('close', () => this.underWay.set(orderId, (this.underWay.get(orderId) ?? 1) - 1));
    const fault = this.faults.get(orderId) ?? this.faults.get('*');
    if (fault !== undefined) {
      fault(request, response);
      return;
    }
    const order = this.orders.get(orderId);
    response.setHeader('content-type', 'application/json');
    if (order === undefined) {
      response.writeHead(404).end('{"error":{"code":"NOT_FOUND"}}');
      return;
    }
    response.end(JSON.stringify({ d: { results: [orderEntity(orderId, order)] } }));
  }
}

export function answering(
  status: number,
  body: string | Buffer = '{}',
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Answer {
  return (_, response) => response.writeHead(status, headers).end(body);
}
