import axios from 'axios';
import { Pool } from 'undici';

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json',
  authorization: 'Bearer bench-token',
};

/** As many lists as a call of the bridge takes. */
const MACHINES_A_CALL = 100;
const LISTS = {
  messagesACall: MACHINES_A_CALL,
  requestOf: (lists) => {
    const machines = new Map(lists.map((list) => [list.machineId, list]));
    return ['PUT', '/api/v1/workOrderList', { machines: [...machines.values()] }];
  },
};

/** How messages of each kind are sent to the service: `requestOf` takes up to `messagesACall` of them. */
const CALLS = {
  reasons: {
    messagesACall: 1,
    requestOf: ([reason]) => ['POST', '/api/v1/machineClassification', reason],
  },
  lists: LISTS,
  orders: {
    ...LISTS,
    requestOf: (orders) =>
      LISTS.requestOf(
        orders.map(({ machineId, orderId }) => ({ machineId, workingOrders: [orderId] })),
      ),
  },
};

/** Makes calls for a kind of message; through axios, or through undici alone. */
export function callerOf(kind, { serviceUrl, connections, isThroughAxios }) {
  const pool = new Pool(serviceUrl, { connections });
  const send = isThroughAxios ? throughAxios(pool) : throughUndici(pool);
  const { messagesACall, requestOf } = CALLS[kind];
  return { messagesACall, call: (messages) => send(...requestOf(messages)) };
}

function throughAxios(pool) {
  const service = axios.create({ adapter: undiciAdapter(pool) });
  return (method, url, data) => service.request({ method, url, data });
}

/** The shortest there is. */
function undiciAdapter(pool) {
  return async (config) => {
    const { url, data, method } = config;
    const request = { path: url, method: method.toUpperCase(), headers: HEADERS, body: data };
    const { statusCode, body } = await pool.request(request);
    requireOk(statusCode);
    return { data: await body.text(), status: statusCode, headers: {}, config };
  };
}

/** Without the stream that undici makes of an answer, which is not read either. */
function throughUndici(pool) {
  return (method, path, data) =>
    new Promise((resolve, reject) => {
      const request = { method, path, headers: HEADERS, body: JSON.stringify(data) };
      pool.dispatch(request, {
        onRequestStart() {},
        onResponseStart: (_controller, status) => requireOk(status),
        onResponseData() {},
        onResponseEnd: resolve,
        onResponseError: (_controller, error) => reject(error),
      });
    });
}

function requireOk(status) {
  if (status !== 200) throw new Error(`the service answers ${status}`);
}
