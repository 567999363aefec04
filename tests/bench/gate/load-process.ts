import { createLoadGenerator, type LoadOptions, type LoadResult, type LoadTarget } from './load.ts';

/** A request from the bench to this process, which answers each with one {@link LoadReply}. */
export type LoadOrder = { target: string; prepare: LoadTarget } | { target: string; run: LoadOptions };
export type LoadReply = { result?: LoadResult } | { error: string };

const generators = new Map<string, ReturnType<typeof createLoadGenerator>>();

async function obey(order: LoadOrder): Promise<LoadReply> {
  const generator = generators.get(order.target) ?? createLoadGenerator();
  generators.set(order.target, generator);
  if ('run' in order) return { result: await generator.run(order.run) };
  generator.prepare(order.prepare);
  return {};
}

process.on('message', (order: LoadOrder) => {
  obey(order).then(
    (reply) => process.send?.(reply),
    (error: unknown) => process.send?.({ error: String(error) } satisfies LoadReply),
  );
});
process.once('disconnect', () => process.exit());
