import { type Admin, type Kafka } from '#libs/kafkajs-patches';

/** Asks the cluster something over a connection that is closed again. */
export async function withAdmin<T>(kafka: Kafka, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await ask(admin);
  } finally {
    await admin.disconnect();
  }
}
