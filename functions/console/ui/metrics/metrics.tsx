import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { AnyMetrics, MetricsRange } from '../../../../runtime/contracts/api/metrics.ts';
import { ApiError } from '../api/client.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { State } from '../parts/badge.tsx';
import { Select } from '../parts/choice.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { Time } from '../parts/time.tsx';
import { metricText } from '../text/metrics.ts';
import type { Measured } from '../workloads/workload.ts';
import { Chart } from './chart.tsx';
import { chartsOf } from './charts.ts';
import { metricsQuery } from './queries.ts';
import { metricsRanges, type MetricsSearch } from './search.ts';

interface MetricsProps {
  workload: Measured;
  /** What the address says, and how to change it. */
  search: MetricsSearch;
  change: (change: MetricsSearch) => void;
}

/** The figures of a workload over time. */
export function Metrics({ workload, search: { range = '1h' }, change }: MetricsProps) {
  const { place, kind, name } = workload;
  const query = useQuery(metricsQuery(workload, range));
  const isUnavailable = query.error instanceof ApiError && query.error.code === 'metrics_unavailable';
  return (
    <div className="flex flex-col gap-4">
      <div className="w-44">
        <Select
          label={metricText.range}
          value={range}
          options={metricsRanges.map((value) => ({ value, label: metricText.ranges[value] }))}
          onChange={({ target }) => change({ range: target.value as MetricsRange })}
        />
      </div>
      {isUnavailable && (
        <Empty
          title={metricText.unavailable}
          hint={metricText.unavailableHint}
          command={commandOf('platform', 'enable', 'metrics-store')}
        />
      )}
      <Loaded query={query}>{(metrics) => <Charts metrics={metrics} />}</Loaded>
      <Command command={commandOf(kind, 'metrics', name, ...placeFlags(place), '--range', range)} />
    </div>
  );
}

function Charts({ metrics }: { metrics: AnyMetrics }) {
  const { deployments } = metrics;
  const marks = useMemo(
    () => (deployments ?? []).map(({ revision, at }) => ({ seconds: Date.parse(at) / 1000, label: String(revision) })),
    [deployments],
  );
  return (
    <>
      {metrics.notes?.map((note) => (
        <Note key={note} look="warn">
          {note}
        </Note>
      ))}
      <div className="grid gap-4 lg:grid-cols-2">
        {chartsOf(metrics).map((chart) => (
          <Chart key={chart.name} chart={chart} metrics={metrics} marks={marks} />
        ))}
      </div>
      {deployments !== undefined && deployments.length > 0 && (
        <section aria-labelledby="deployments" className="text-sm">
          <h2 id="deployments" className="mb-1 font-semibold">
            {metricText.deployments}
          </h2>
          <p className="mb-2 text-zinc-600 dark:text-zinc-400">{metricText.marks}</p>
          <ul className="flex flex-col gap-1">
            {deployments.toReversed().map(({ id, revision, state, at }) => (
              <li key={id} className="flex flex-wrap items-center gap-2">
                {metricText.revision(revision)} <State state={state} /> <Time at={at} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
