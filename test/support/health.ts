import { eventually } from './eventually.js';

interface HealthBody {
  error: Record<string, { message?: string }>;
}

export interface Health {
  status: number;
  /** The message of each failing condition. */
  problems: Record<string, string>;
}

export async function healthOf(bridgeUrl: string): Promise<Health> {
  const response = await fetch(`${bridgeUrl}/health/ready`);
  const { error } = (await response.json()) as HealthBody;
  const problems: Record<string, string> = {};
  for (const [name, { message = '' }] of Object.entries(error)) problems[name] = message;
  return { status: response.status, problems };
}

/** Waits until the bridge is not ready because of each of these conditions; returns its health. */
export function untilUnready(bridgeUrl: string, ...conditions: string[]): Promise<Health> {
  return eventually(`the bridge is not ready because of ${conditions.join(' and ')}`, async () => {
    const health = await healthOf(bridgeUrl);
    return conditions.every((name) => name in health.problems) && health;
  });
}

/** Waits until a message of the bridge's readiness matches, not necessarily the first; returns all messages. */
export function untilUnreadyBecause(bridgeUrl: string, why: string | RegExp): Promise<string> {
  return eventually(`the bridge is not ready: ${String(why)}`, async () => {
    const response = await fetch(`${bridgeUrl}/health/ready`);
    const text = await response.text();
    const saysSo = typeof why === 'string' ? text.includes(why) : why.test(text);
    if (response.status === 503 && saysSo) return text;
    throw new Error(text);
  });
}

/** Waits until an app is ready. */
export async function untilReady(url: string): Promise<void> {
  await eventually('the app is ready', async () => (await fetch(`${url}/health/ready`)).ok);
}
