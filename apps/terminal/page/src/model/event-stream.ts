export interface StreamEvent {
  id: string | null;
  event: string;
  data: string;
}

/**
 * Parses the text/event-stream format (HTML standard, 9.2.6) from chunks of text; returns the events that a chunk
 * completes.
 */
export function createEventParser(): (chunk: string) => StreamEvent[] {
  let rest = '';
  let id: string | null = null;
  return (chunk) => {
    const blocks = (rest + chunk).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      let event = 'message';
      const data: string[] = [];
      for (const line of block.split(/\r?\n/)) {
        const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (field === 'id') id = value;
        else if (field === 'event') event = value;
        else if (field === 'data') data.push(value);
      }
      return data.length > 0 ? [{ id, event, data: data.join('\n') }] : [];
    });
  };
}
