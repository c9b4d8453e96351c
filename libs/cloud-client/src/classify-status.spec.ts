import { classifyStatus, type StatusClass } from './classify-status.js';

const TABLE: Record<StatusClass, number[]> = {
  success: [200, 201, 202, 206],
  noContent: [204, 205],
  unauthorised: [401, 403],
  rejected: [400, 404, 409, 413, 415, 422],
  retry: [
    101, 301, 302, 307, 308, 402, 405, 407, 408, 410, 414, 418, 431, 423, 451, 425, 429, 500, 501,
    502, 503, 504, 507, 599, 999,
  ],
};

describe('classifyStatus', () => {
  const rows = Object.entries(TABLE).flatMap(([statusClass, statuses]) =>
    statuses.map((status) => [status, statusClass] as const),
  );

  it.each(rows)('takes %i as %s', (status, statusClass) => {
    expect(classifyStatus(status)).toBe(statusClass);
  });
});
