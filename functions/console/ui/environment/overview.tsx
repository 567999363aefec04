import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { TopItem } from '../../../../runtime/contracts/api/metrics.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { deploymentsQuery, listQuery, topQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { State } from '../parts/badge.tsx';
import { buttonLook } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import {
  cellLook,
  Cells,
  Heading,
  linkLook,
  nameCellLook,
  rowLook,
  wideCellLook,
  widestCellLook,
  wordLook,
} from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { appText } from '../text/apps.ts';
import { text } from '../text/common.ts';
import { Crumbs } from './crumbs.tsx';
import { bytes, figure, rowsOf, type Row } from './rows.ts';
import { sparklineOf, sparklineSize } from './sparkline.ts';

const words = text.environment;

/** All that runs in an environment, with its state and use. */
export function Overview(place: Place) {
  const mayCreate = useMay(place.project, 'deployer');
  return (
    <>
      <Crumbs {...place} />
      <Heading title={`${place.project} / ${place.environment}`}>
        <span className="flex-1" />
        {mayCreate && (
          <>
            <Link to="/projects/$project/environments/$environment/new-app" params={place} className={buttonLook()}>
              {words.createApp}
            </Link>
            <Link
              to="/projects/$project/environments/$environment/new-function"
              params={place}
              className={buttonLook()}
            >
              {words.createFunction}
            </Link>
            <Link to="/projects/$project/environments/$environment/new-job" params={place} className={buttonLook()}>
              {words.createJob}
            </Link>
          </>
        )}
      </Heading>
      <section aria-labelledby="workloads" className="mb-8">
        <h2 id="workloads" className="mb-2 text-lg font-semibold">
          {words.workloads}
        </h2>
        <Workloads {...place} />
      </section>
      <section aria-labelledby="storage">
        <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-2">
          <h2 id="storage" className="text-lg font-semibold">
            {words.storage}
          </h2>
          <span className="flex-1" />
          {mayCreate && (
            <>
              <Link
                to="/projects/$project/environments/$environment/new-service"
                params={place}
                className={buttonLook()}
              >
                {words.createService}
              </Link>
              <Link
                to="/projects/$project/environments/$environment/new-volume"
                params={place}
                className={buttonLook()}
              >
                {words.createVolume}
              </Link>
            </>
          )}
        </div>
        <Storage {...place} />
      </section>
    </>
  );
}

function Workloads(place: Place) {
  const [apps, functions, jobs] = [
    useQuery(listQuery('apps', place)),
    useQuery(listQuery('functions', place)),
    useQuery(listQuery('jobs', place)),
  ];
  // The table does not wait for these.
  const top = useQuery(topQuery(place)).data;
  const deployments = useQuery(deploymentsQuery(place)).data?.items ?? [];
  const partial = [apps, functions, jobs].some(({ data }) => data?.nextCursor !== undefined);
  return (
    <Loaded query={apps}>
      {({ items: appItems }) => (
        <Loaded query={functions}>
          {({ items: functionItems }) => (
            <Loaded query={jobs}>
              {({ items: jobItems }) => {
                const lists = { apps: appItems, functions: functionItems, jobs: jobItems };
                const rows = rowsOf({ ...lists, top: top?.items ?? [], deployments });
                return (
                  <>
                    {rows.length === 0 ? <NoWorkloads {...place} /> : <WorkloadTable place={place} rows={rows} />}
                    {partial && <p className="mt-2 text-sm">{text.errors.partial}</p>}
                    {top?.metricsUnavailable !== undefined && <p className="mt-2 text-sm">{words.noMetrics}</p>}
                    {rows.length > 0 && <Command command={commandOf('top', ...placeFlags(place))} />}
                  </>
                );
              }}
            </Loaded>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

function NoWorkloads(place: Place) {
  const command = commandOf(
    'app',
    'create',
    'api',
    '--image',
    'registry.example.com/shop/api:1.0',
    ...placeFlags(place),
  );
  return <Empty title={words.empty} hint={words.emptyHint} command={command} />;
}

const workloadHeads: React.ComponentProps<typeof Cells>['heads'] = [
  { title: words.name },
  { title: words.kind, wide: true },
  { title: words.status },
  { title: words.replicas, wide: true },
  { title: words.requests, wide: true },
  { title: words.errors, wide: 'lg' },
  { title: words.cpu, wide: true },
  { title: words.memory, wide: true },
  { title: words.hour, wide: 'lg' },
  { title: words.deployment, wide: true },
];

function WorkloadTable({ place, rows }: { place: Place; rows: readonly Row[] }) {
  return (
    <table className="mb-4 w-full text-sm">
      <Cells heads={workloadHeads} />
      <tbody>
        {rows.map(({ kind, name, status, message, replicas, top, deployment }) => (
          <tr key={`${kind} ${name}`} className={rowLook}>
            <th scope="row" className={nameCellLook}>
              <WorkloadName place={place} kind={kind} name={name} />
            </th>
            <td className={`${wideCellLook} ${wordLook}`}>{text.kinds[kind]}</td>
            <td className={cellLook}>
              <State state={status} />
              {message !== undefined && <p className="mt-1 text-xs">{message}</p>}
            </td>
            <td className={wideCellLook}>{replicas ?? text.none}</td>
            <td className={wideCellLook}>{figure(top?.requestsPerSecond) ?? text.none}</td>
            <td className={widestCellLook}>{figure(top?.errorsPerSecond) ?? text.none}</td>
            <td className={`${wideCellLook} ${wordLook}`}>{figure(top?.cpuCores) ?? text.none}</td>
            <td className={wideCellLook}>{bytes(top?.memoryBytes) ?? text.none}</td>
            <td className={widestCellLook}>
              <LastHour history={top?.history} />
            </td>
            <td className={wideCellLook}>
              {deployment ? (
                <>
                  <State state={deployment.status} label={appText.deployments.states[deployment.status]} />{' '}
                  <Time at={deployment.acceptedAt} />
                  {deployment.actor !== undefined && (
                    <span className="block text-xs">{words.by(deployment.actor)}</span>
                  )}
                </>
              ) : (
                text.none
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The last hour of a workload as a small picture. */
function LastHour({ history }: Pick<TopItem, 'history'>) {
  const sparkline = sparklineOf(history);
  if (!sparkline) return text.none;
  const { width, height } = sparklineSize;
  const title = words.hours[sparkline.figure](figure(sparkline.highest) ?? '0');
  return (
    <svg
      role="img"
      aria-label={title}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className="stroke-indigo-600 dark:stroke-indigo-400"
    >
      <title>{title}</title>
      {sparkline.lines.map((points) => (
        <polyline key={points} points={points} fill="none" strokeWidth={1.5} strokeLinecap="round" />
      ))}
    </svg>
  );
}

function WorkloadName({ place, kind, name }: { place: Place; kind: Row['kind']; name: string }) {
  const base = '/projects/$project/environments/$environment';
  if (kind === 'app') {
    return (
      <Link to={`${base}/apps/$app`} params={{ ...place, app: name }} className={linkLook}>
        {name}
      </Link>
    );
  }
  if (kind === 'function') {
    return (
      <Link to={`${base}/functions/$function`} params={{ ...place, function: name }} className={linkLook}>
        {name}
      </Link>
    );
  }
  return (
    <Link to={`${base}/jobs/$job`} params={{ ...place, job: name }} className={linkLook}>
      {name}
    </Link>
  );
}

function Storage(place: Place) {
  const services = useQuery(listQuery('services', place));
  const volumes = useQuery(listQuery('volumes', place));
  return (
    <Loaded query={services}>
      {({ items: serviceItems }) => (
        <Loaded query={volumes}>
          {({ items: volumeItems }) => {
            const rows = [
              ...serviceItems.map((item) => ({ ...item, kind: 'service' as const, detail: item.type })),
              ...volumeItems.map((item) => ({ ...item, kind: 'volume' as const, detail: item.size })),
            ];
            if (rows.length === 0) {
              const create = commandOf('service', 'create', 'orders', '--type', 'postgres', ...placeFlags(place));
              return <Empty title={words.noStorage} hint={words.noStorageHint} command={create} />;
            }
            return (
              <>
                <table className="mb-4 w-full text-sm">
                  <Cells heads={[{ title: words.name }, { title: words.kind, wide: true }, { title: words.status }]} />
                  <tbody>
                    {rows.map(({ kind, name, detail, status, message }) => (
                      <tr key={`${kind} ${name}`} className={rowLook}>
                        <th scope="row" className={nameCellLook}>
                          <StorageName place={place} kind={kind} name={name} />
                        </th>
                        <td className={wideCellLook}>
                          {text.kinds[kind]} ({detail})
                        </td>
                        <td className={cellLook}>
                          <State state={status} />
                          <p className="mt-1 text-xs md:hidden">
                            {text.kinds[kind]} ({detail})
                          </p>
                          {message !== undefined && <p className="mt-1 text-xs">{message}</p>}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
                <Command command={commandOf('service', 'list', ...placeFlags(place))} />
              </>
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

function StorageName({ place, kind, name }: { place: Place; kind: 'service' | 'volume'; name: string }) {
  const base = '/projects/$project/environments/$environment';
  if (kind === 'service') {
    return (
      <Link to={`${base}/services/$service`} params={{ ...place, service: name }} className={linkLook}>
        {name}
      </Link>
    );
  }
  return (
    <Link to={`${base}/volumes/$volume`} params={{ ...place, volume: name }} className={linkLook}>
      {name}
    </Link>
  );
}
