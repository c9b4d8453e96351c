import type { Admin, KafkaClient } from './kafka-port.js';

/** Asks the cluster something over a connection that is closed again. */
export async function withAdmin<T>(
  kafka: KafkaClient,
  ask: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await ask(admin);
  } finally {
    await admin.disconnect();
  }
}
