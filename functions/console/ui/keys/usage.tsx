import { useQuery } from '@tanstack/react-query';
import type { UsageCounts } from '../../../../runtime/contracts/api/usage.ts';
import type { Place } from '../api/queries.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { Command } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, rowLook } from '../parts/page.tsx';
import { keyText } from '../text/keys.ts';
import { daysOf, scaleOf } from './usage-days.ts';
import { usageQuery, type UsageView } from './queries.ts';

const words = keyText.usage;

/** The verdicts from the bottom of a bar to its top. */
const series = [
  { field: 'allowed', look: 'fill-emerald-600 dark:fill-emerald-500', dot: 'bg-emerald-600 dark:bg-emerald-500' },
  { field: 'rateDenied', look: 'fill-amber-500 dark:fill-amber-400', dot: 'bg-amber-500 dark:bg-amber-400' },
  { field: 'quotaDenied', look: 'fill-red-600 dark:fill-red-500', dot: 'bg-red-600 dark:bg-red-500' },
] as const;

const figure = (value: number) => value.toLocaleString('en');

/** The requests with a key in the last 90 days, by verdict. */
export function Usage({ place, handle }: { place: Place; handle: string }) {
  return (
    <section aria-labelledby="usage" className="flex flex-col gap-4">
      <h2 id="usage" className="text-lg font-semibold">
        {words.title}
      </h2>
      <Loaded query={useQuery(usageQuery(place, handle))}>
        {(usage) => (
          <>
            <ul className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
              {series.map(({ field, dot }) => (
                <li key={field} className="flex items-center gap-2">
                  <span aria-hidden="true" className={`size-3 rounded-sm ${dot}`} />
                  {words[field]}: {figure(usage.totals[field])}
                </li>
              ))}
            </ul>
            {usage.days.length === 0 ? <p className="text-sm">{words.none}</p> : <Chart {...usage} />}
          </>
        )}
      </Loaded>
      <Command command={commandOf('key', 'usage', handle, ...placeFlags(place))} />
    </section>
  );
}

const [width, height, gap] = [900, 160, 2];

function Chart({ from, to, days }: UsageView) {
  const all = daysOf(from, to, days);
  const top = scaleOf(
    Math.max(...all.map(({ allowed, rateDenied, quotaDenied }) => allowed + rateDenied + quotaDenied)),
  );
  const step = width / all.length;
  return (
    <figure className="flex flex-col gap-1">
      <svg
        role="img"
        aria-label={words.chart(from, to)}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        className="h-40 w-full border-b border-zinc-400 dark:border-zinc-600"
      >
        {all.map((day, index) => (
          <Bar key={day.day} {...day} x={index * step} width={step - gap} top={top} />
        ))}
      </svg>
      <figcaption className="flex justify-between gap-4 text-xs text-zinc-600 dark:text-zinc-400">
        <span>{from}</span>
        <span>{words.top(figure(top))}</span>
        <span>{to}</span>
      </figcaption>
      <details className="mt-2 text-sm">
        <summary>{words.table}</summary>
        <table className="mt-2 w-full text-sm">
          <Cells
            heads={[
              { title: words.day },
              { title: words.allowed },
              { title: words.rateDenied },
              { title: words.quotaDenied },
            ]}
          />
          <tbody>
            {days.toReversed().map(({ day, ...counts }) => (
              <tr key={day} className={rowLook}>
                <th scope="row" className={`${cellLook} text-left font-medium`}>
                  {day}
                </th>
                {series.map(({ field }) => (
                  <td key={field} className={cellLook}>
                    {figure(counts[field])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** A day, from the bottom up. The whole height of the chart shows what the day had when the pointer is above it. */
function Bar({
  day,
  x,
  top,
  width: barWidth,
  ...counts
}: UsageCounts & { day: string; x: number; top: number; width: number }) {
  const parts = series.map(({ field, look }, index) => {
    const below = series.slice(0, index).reduce((sum, other) => sum + counts[other.field], 0);
    const size = (counts[field] / top) * height;
    return { field, look, size, y: height - (below / top) * height - size };
  });
  const { allowed, rateDenied, quotaDenied } = counts;
  return (
    <g>
      <title>{words.bar(day, figure(allowed), figure(rateDenied), figure(quotaDenied))}</title>
      <rect x={x} y={0} width={barWidth} height={height} className="fill-transparent" />
      {parts.map(({ field, look, size, y }) => (
        <rect key={field} x={x} y={y} width={barWidth} height={size} className={look} />
      ))}
    </g>
  );
}
