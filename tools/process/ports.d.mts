/** A free port that no outgoing connection is given: it can be listened on again later. */
export function anyFreePort(): Promise<number>;
