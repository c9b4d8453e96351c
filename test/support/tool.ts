import { join, resolve } from 'node:path';

const TOOLS = resolve(import.meta.dirname, '../../tools');

/** A function of a tool without its parameter types. */
export type ToolFunction<Result = unknown> = (...given: unknown[]) => Result;

/** A class of a tool, with the methods that a test calls. */
export type ToolClass<Methods extends string> = new (
  ...given: unknown[]
) => Record<Methods, ToolFunction>;

/** The exports of a module of the tools, in the types that the test states. */
export async function tool<Exports>(module: string): Promise<Exports> {
  return (await import(join(TOOLS, module))) as Exports;
}
