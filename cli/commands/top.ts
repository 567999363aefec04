import { topView, type TopItem } from '../../runtime/contracts/api/metrics.ts';
import type { Context } from '../context.ts';
import { coresText, rounded, secondsText } from '../figure-text.ts';
import type { FlagValues } from '../flags.ts';
import { table } from '../output.ts';
import { resolveScope } from '../scope.ts';
import type { topFlags, topOrders } from '../top-flags.ts';
import { formatUnits } from '../units.ts';

type Order = (typeof topOrders)[number];

const valueOf: Readonly<Record<Exclude<Order, 'name'>, (item: TopItem) => number | null>> = {
  cpu: ({ cpuCores }) => cpuCores,
  memory: ({ memoryBytes }) => memoryBytes,
  requests: ({ requestsPerSecond }) => requestsPerSecond,
  errors: ({ errorsPerSecond }) => errorsPerSecond,
};

/** Runs `svc top`. */
export async function printTop(context: Context, flags: FlagValues<typeof topFlags>): Promise<void> {
  const scope = resolveScope(context, flags);
  const top = await scope.api.call('GET', scope.path('top'), topView, { query: scope.query });
  const items = inOrder(top.items, flags.sort ?? 'cpu');
  const textOf = (value: number | null, format: (value: number) => string) =>
    value === null ? undefined : format(value);
  context.print(
    {
      data: items,
      table: table(items, [
        { title: 'KIND', value: ({ kind }) => kind },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'CPU', value: ({ cpuCores }) => textOf(cpuCores, coresText) },
        { title: 'MEMORY', value: ({ memoryBytes }) => textOf(memoryBytes, formatUnits) },
        { title: 'REQ/S', value: ({ requestsPerSecond }) => textOf(requestsPerSecond, rounded) },
        { title: 'ERR/S', value: ({ errorsPerSecond }) => textOf(errorsPerSecond, rounded) },
        { title: 'P95', value: ({ latencyP95Seconds }) => textOf(latencyP95Seconds, secondsText) },
        { title: 'READY', value: ({ readyReplicas, replicas }) => `${readyReplicas}/${replicas ?? 0}` },
        { title: 'RESTARTS', value: ({ restarts }) => restarts },
      ]),
      names: items.map(({ kind, name }) => `${kind}/${name}`),
    },
    flags.output,
  );
  if (top.omitted > 0) context.say(`${top.omitted} workloads that use less are not shown`);
  if (top.metricsUnavailable !== undefined) context.say(`only pods are shown: ${top.metricsUnavailable}`);
}

function inOrder(items: readonly TopItem[], order: Order): TopItem[] {
  if (order === 'name') return items.toSorted((one, other) => one.name.localeCompare(other.name));
  const value = valueOf[order];
  return items.toSorted((one, other) => (value(other) ?? -1) - (value(one) ?? -1));
}
