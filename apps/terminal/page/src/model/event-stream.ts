export interface StreamEvent {
  id: string | null;
  event: string;
  data: string;
}

/**
 * Reads the text/event-stream format (HTML standard, 9.2.6) from chunks of text as they arrive; yields the events
 * that a chunk completes.
 */
export function createEventParser(): (chunk: string) => StreamEvent[] {
  let rest = '';
  let lines: string[] = [];
  let lastId: string | null = null;
  const finish = (): StreamEvent | null => {
    let event = 'message';
    const data: string[] = [];
    for (const line of lines) {
      const colon = line.indexOf(':');
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'id') lastId = value;
      else if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
    }
    lines = [];
    return data.length > 0 ? { id: lastId, event, data: data.join('\n') } : null;
  };
  return (chunk) => {
    const events: StreamEvent[] = [];
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = part.endsWith('\r') ? part.slice(0, -1) : part;
      if (line !== '') {
        if (!line.startsWith(':')) lines.push(line);
        continue;
      }
      const event = finish();
      if (event) events.push(event);
    }
    return events;
  };
}
