/** A free port outside the range of outgoing connections, so that it can be listened on again later. */
export function anyFreePort(): Promise<number>;
