import { join, resolve } from 'node:path';

const TOOLS = resolve(import.meta.dirname, '../../tools');

/** A function of a tool, which says nothing of the types that it takes. */
export type ToolFunction<Result = unknown> = (...given: unknown[]) => Result;

/** A class of a tool, with those of its methods that a test calls. */
export type ToolClass<Methods extends string> = new (
  ...given: unknown[]
) => Record<Methods, ToolFunction>;

/** What a module of the tools exports, in the types that a test gives it. */
export async function tool<Exports>(module: string): Promise<Exports> {
  return (await import(join(TOOLS, module))) as Exports;
}
