import { anyMetrics, metricsRanges, type AnyMetrics } from '../../runtime/contracts/api/metrics.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { figureTexts } from '../figure-text.ts';
import { choice, duration } from '../flags.ts';
import { table } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { sparkline } from '../sparkline.ts';

const figuresText = {
  app: 'requests, errors, latency, CPU, memory and replicas of an app',
  function: 'requests, errors, latency, cold starts, CPU and memory of a function',
  job: 'CPU, memory and running pods of a job',
  service: 'CPU, memory and restarts of a service',
};
const examples = { app: 'api', function: 'hello', job: 'report', service: 'orders' };

type Kind = keyof typeof figuresText;

/** `svc app metrics` and the same for other kinds of workloads. */
export function metricsCommand(kind: Kind) {
  return command({
    name: 'metrics',
    args: [kind],
    description: `Show ${figuresText[kind]}.`,
    flags: {
      range: choice(metricsRanges, 'time range, up to now (default 1h)'),
      step: duration('<duration>', 'time between values (default: about 60 values)', { min: 15, max: 86_400 }),
      ...scopeFlags,
    },
    data: anyMetrics,
    watch: true,
    examples: [`svc ${kind} metrics ${examples[kind]}`, `svc ${kind} metrics ${examples[kind]} --range 24h -o json`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const query = { ...scope.query, range: flags.range, step: flags.step?.toString() };
      const path = scope.path(`${kind}s`, args[kind], 'metrics');
      const metrics = await scope.api.call('GET', path, anyMetrics, { query });
      context.print({ data: metrics, table: chart(metrics), names: Object.keys(metrics.figures) }, flags.output);
      for (const note of metrics.notes ?? []) context.say(note);
      context.say(`from ${metrics.from} to ${metrics.to}, one value every ${metrics.stepSeconds} seconds`);
      for (const { revision, state, at } of metrics.deployments ?? []) {
        context.say(`deployment ${revision} ${state} at ${at}`);
      }
    },
  });
}

/** A line for each figure: its newest, lowest and highest value, and a chart. */
function chart({ figures }: AnyMetrics): string {
  const rows = Object.entries(figureTexts).flatMap(([name, { title, text }]) => {
    const values = figures[name];
    if (!values) return [];
    const numbers = values.filter((value) => value !== null);
    const show = (value: number | null | undefined) =>
      value === null || value === undefined ? undefined : text(value);
    return [
      {
        title,
        last: show(values.at(-1)),
        lowest: numbers.length === 0 ? undefined : text(Math.min(...numbers)),
        highest: numbers.length === 0 ? undefined : text(Math.max(...numbers)),
        chart: sparkline(values),
      },
    ];
  });
  return table(rows, [
    { title: 'FIGURE', value: ({ title }) => title },
    { title: 'NOW', value: ({ last }) => last },
    { title: 'LOW', value: ({ lowest }) => lowest },
    { title: 'HIGH', value: ({ highest }) => highest },
    { title: 'CHART', value: (row) => row.chart },
  ]);
}
