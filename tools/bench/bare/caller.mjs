import axios from 'axios';
import { Pool } from 'undici';

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json',
  authorization: 'Bearer bench-token',
};

/** As many lists as a call of the bridge takes. */
const LISTS_A_CALL = 100;

const FLOWS = {
  'downtime-reason': (service) => ({
    messagesACall: 1,
    call: ([reason]) => service.post('/api/v1/machineClassification', reason),
  }),
  'work-order-list': (service) => ({
    messagesACall: LISTS_A_CALL,
    call: (lists) => {
      const machines = new Map(lists.map((list) => [list.machineId, list]));
      return service.put('/api/v1/workOrderList', { machines: [...machines.values()] });
    },
  }),
};

/** How a family's messages are told to the service: `call(messages)` takes up to `messagesACall` of them. */
export function callerOf(family, serviceUrl, connections) {
  const service = axios.create({ adapter: undiciAdapter(new Pool(serviceUrl, { connections })) });
  return FLOWS[family](service);
}

/** The shortest there is. */
function undiciAdapter(pool) {
  return async (config) => {
    const { url, data, method } = config;
    const request = { path: url, method: method.toUpperCase(), headers: HEADERS, body: data };
    const { statusCode, body } = await pool.request(request);
    if (statusCode !== 200) throw new Error(`the service answers ${statusCode}`);
    return { data: await body.text(), status: statusCode, headers: {}, config };
  };
}
