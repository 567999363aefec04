import { useEffect, useId, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { AnyMetrics } from '../../../../runtime/contracts/api/metrics.ts';
import { cellLook, Cells, rowLook } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { metricText } from '../text/metrics.ts';
import { columnsOf, hasValues, type ChartKind, type Columns } from './charts.ts';
import { drawPlot, type Mark, type Plot } from './plot.ts';

const dots = [
  'bg-indigo-600 dark:bg-indigo-400',
  'bg-red-600 dark:bg-red-400',
  'bg-amber-600 dark:bg-amber-400',
] as const;

const darkScheme = matchMedia('(prefers-color-scheme: dark)');

function subscribeScheme(listener: () => void): () => void {
  darkScheme.addEventListener('change', listener);
  return () => darkScheme.removeEventListener('change', listener);
}

const timeOf = (seconds: number) =>
  new Date(seconds * 1000).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' });

interface ChartProps {
  chart: ChartKind;
  metrics: AnyMetrics;
  marks: readonly Mark[];
}

/** The figures of a chart over time, and a table of them. */
export function Chart({ chart, metrics, marks }: ChartProps) {
  const id = useId();
  const columns = useMemo(() => columnsOf(chart, metrics), [chart, metrics]);
  const [index, setIndex] = useState<number>();
  const [times] = columns;
  const time = index === undefined ? undefined : times[index];
  const hasSome = hasValues(columns);
  const title = metricText.charts[chart.name];
  return (
    <section aria-labelledby={id} className="min-w-0 rounded-lg border border-zinc-200 p-4 dark:border-zinc-800">
      <div className="mb-1 flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        {hasSome && (
          <span className="text-xs text-zinc-600 dark:text-zinc-400">
            {time === undefined ? metricText.newest : timeOf(time)}
          </span>
        )}
      </div>
      {hasSome ? (
        <>
          <Drawing chart={chart} columns={columns} marks={marks} index={index} point={setIndex} />
          <Values chart={chart} columns={columns} />
        </>
      ) : (
        <p className="py-4 text-sm text-zinc-600 dark:text-zinc-400">{metricText.noValues}</p>
      )}
    </section>
  );
}

interface DrawingProps {
  chart: ChartKind;
  columns: Columns;
  marks: readonly Mark[];
  index: number | undefined;
  point: (index: number | undefined) => void;
}

/** The legend, with the values below the pointer or the newest ones, and the lines in the legend's colours. */
function Drawing({ chart, columns, marks, index, point }: DrawingProps) {
  const legend = useRef<HTMLUListElement>(null);
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const isDark = useSyncExternalStore(subscribeScheme, () => darkScheme.matches);
  useEffect(() => {
    if (!element.current || !legend.current) return undefined;
    const { color, borderTopColor } = getComputedStyle(element.current);
    const colors = [...legend.current.querySelectorAll('[data-dot]')].map(
      (dot) => getComputedStyle(dot).backgroundColor,
    );
    const next = drawPlot(element.current, { chart, colors, text: color, grid: borderTopColor, point });
    plot.current = next;
    return () => next.remove();
  }, [chart, isDark, point]);
  useEffect(() => plot.current?.set(columns, marks), [columns, marks, isDark]);
  const [times, ...values] = columns;
  return (
    <>
      <ul ref={legend} className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {chart.figures.map((name, position) => (
          <li key={name} className="flex items-center gap-2">
            <span aria-hidden="true" data-dot className={`size-3 rounded-sm ${dots[position] ?? ''}`} />
            {metricText.figures[name]}: {shown(chart, valueAt(values[position] ?? [], index))}
          </li>
        ))}
      </ul>
      <div
        ref={element}
        role="img"
        aria-label={metricText.chart(metricText.charts[chart.name], timeOf(times[0] ?? 0), timeOf(times.at(-1) ?? 0))}
        className="mt-2 h-45 overflow-hidden border-zinc-200 text-zinc-600 dark:border-zinc-800 dark:text-zinc-400"
      />
    </>
  );
}

function valueAt(column: readonly (number | null)[], index: number | undefined): number | null {
  return (index === undefined ? column.findLast((value) => value !== null) : column[index]) ?? null;
}

const shown = (chart: ChartKind, value: number | null) => (value === null ? text.none : chart.show(value));

/** The values as a table, newest first, once it is opened. */
function Values({ chart, columns: [times, ...values] }: { chart: ChartKind; columns: Columns }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="mt-2 text-sm" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{metricText.table}</summary>
      {isOpen && (
        <table className="mt-2 w-full text-sm">
          <Cells
            heads={[metricText.time, ...chart.figures.map((name) => metricText.figures[name])].map((title) => ({
              title,
            }))}
          />
          <tbody>
            {times
              .map((time, index) => (
                <tr key={time} className={rowLook}>
                  <th scope="row" className={`${cellLook} text-left font-medium`}>
                    {timeOf(time)}
                  </th>
                  {chart.figures.map((name, position) => (
                    <td key={name} className={cellLook}>
                      {shown(chart, values[position]?.[index] ?? null)}
                    </td>
                  ))}
                </tr>
              ))
              .toReversed()}
          </tbody>
        </table>
      )}
    </details>
  );
}
