import type { Admin, KafkaClient } from './kafka-port.js';

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

/** Like `Promise.all`, but rejects once all have ended: a request after a disconnect would leave a connection open. */
export async function allEnded<T extends readonly unknown[] | []>(
  asked: T,
): Promise<{ -readonly [Each in keyof T]: Awaited<T[Each]> }> {
  await Promise.allSettled(asked);
  return Promise.all(asked);
}
