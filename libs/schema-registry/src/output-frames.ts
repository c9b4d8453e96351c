import { framed, FRAMED_OUTPUTS, type FramedOutput } from '#libs/contracts';
import { OUTPUT_SCHEMAS } from './output-schemas.js';
import type { SchemaRegistry } from './schema-registry.js';

/**
 * Puts values of the outputs that are to be framed into the frame of their schema. Nothing of them is published before
 * the registry has it: a reader that expects frames stops at the first value without one.
 */
export class OutputFrames {
  private readonly topics: ReadonlySet<string>;
  /** By topic, without the prefix. */
  private readonly ids = new Map<string, number>();

  constructor(
    private readonly registry?: SchemaRegistry,
    private readonly outputs: readonly FramedOutput[] = [],
  ) {
    this.topics = new Set(outputs.map((output) => FRAMED_OUTPUTS[output]));
  }

  /**
   * Resolves once the registry has the schemas of all outputs that are published, under the names of Confluent's
   * serializers. May be called again: what is registered is not asked for once more.
   *
   * @param published full names of topics
   * @throws the reason of the signal
   */
  async register(
    topicPrefix: string,
    published: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    for (const output of this.outputs) {
      const topic = FRAMED_OUTPUTS[output];
      const name = `${topicPrefix}${topic}`;
      if (this.registry === undefined || !published.has(name) || this.ids.has(topic)) continue;
      const schema = OUTPUT_SCHEMAS[output];
      this.ids.set(topic, await this.registry.registeredId(`${name}-value`, schema, signal));
    }
  }

  /** @param topic without the prefix */
  valueOf(topic: string, json: string): Buffer | string {
    if (!this.topics.has(topic)) return json;
    const id = this.ids.get(topic);
    if (id === undefined) throw new Error(`the schema of ${topic} is not registered`);
    return framed(id, json);
  }
}
