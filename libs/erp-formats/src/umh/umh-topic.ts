import { headerText, type MessageHeaders } from '#libs/contracts';

const ROOT = 'umh.v1.';
const WORK_ORDER = /\._analytics\.work-order(?:\.|$)/;

/**
 * The topic under which a message was first published: as UMH's bridge or another writes it into a header,
 * else as UMH writes it into the record's key. Null where none says.
 */
export function sourceTopicOf(message: {
  headers: MessageHeaders;
  key: Buffer | null;
}): string | null {
  const { headers } = message;
  const header = headerText(headers, 'umh_topic') ?? headerText(headers, 'source-topic');
  if (header !== null) return header;
  const key = message.key?.toString('utf8') ?? '';
  return key.startsWith(ROOT) ? key : null;
}

/** The location in a topic `umh.v1.<enterprise>.<site>.<area>.<line>.<cell>._analytics.work-order.<action>`. */
export interface UmhLocation {
  site: string;
  /** Levels below the site, joined by dots: two lines may name a cell alike. */
  workCentre: string;
}

/** Undefined for a topic that ends above the area, or is of something else. */
export function locationOf(topic: string | null): UmhLocation | undefined {
  if (topic?.startsWith(ROOT) !== true || !WORK_ORDER.test(topic)) return undefined;
  const [, site, ...below] = topic.slice(ROOT.length, topic.search(WORK_ORDER)).split('.');
  if (site === undefined || below.length === 0) return undefined;
  return { site, workCentre: below.join('.') };
}

export type UmhAction = 'create' | 'start' | 'stop';

/** The action that a topic ends in. */
export function actionOf(topic: string | null): UmhAction | undefined {
  const action = /\.work-order\.(create|start|stop)$/.exec(topic ?? '')?.[1];
  return action as UmhAction | undefined;
}
