import { useQuery } from '@tanstack/react-query';
import type { AnyRunView } from '../../../../runtime/contracts/api/runs.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { LogText } from '../logs/log-text.tsx';
import { State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { duration, Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { workloadText } from '../text/workloads.ts';
import { runLogQuery, runsQuery } from './queries.ts';
import type { Workload } from './workload.ts';

const words = workloadText.runs;

/** Whether a run has succeeded or failed: it is not stopped any more, only deleted. */
export function isEnded({ status }: Pick<AnyRunView, 'status'>): boolean {
  return status === 'succeeded' || status === 'failed';
}

export interface RunsProps {
  workload: Workload;
  /** The run whose log is shown. */
  selected: string | undefined;
  select: (run: string | undefined) => void;
  empty: { title: string; hint: string; command: string };
  /** Stops and deletes a run; absent where the user may not. */
  stop?: (run: AnyRunView) => void;
}

/** The runs of a workload, newest first, and the log of one of them. */
export function Runs({ workload, selected, select, empty, stop }: RunsProps) {
  const { place, kind, name } = workload;
  return (
    <>
      {selected !== undefined && <RunLog workload={workload} run={selected} hide={() => select(undefined)} />}
      <Loaded query={useQuery(runsQuery(workload))}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty {...empty} />
          ) : (
            <>
              <RunTable runs={items} selected={selected} select={select} {...(stop && { stop })} />
              {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
              <Command command={commandOf(kind, 'runs', name, ...placeFlags(place))} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

const heads = [
  { title: words.name },
  { title: words.status },
  { title: words.trigger, wide: true },
  { title: words.by, wide: true },
  { title: words.created, wide: true },
  { title: words.took, wide: true },
  { title: words.log },
];

type TableProps = Pick<RunsProps, 'selected' | 'select' | 'stop'> & { runs: AnyRunView[] };

function RunTable({ runs, selected, select, stop }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells heads={heads} />
      <tbody>
        {runs.map((run) => {
          const { name, status, trigger, actor, command, createdAt, startedAt, endedAt, message } = run;
          // The run of a release ends with its deployment.
          const mayStop = stop && trigger !== 'release';
          return (
            <tr key={name} className={rowLook}>
              <th scope="row" className={`${cellLook} text-left font-medium`}>
                <span className="wrap-anywhere">{name}</span>
                {command && command.length > 0 && (
                  <code className="mt-1 block text-xs font-normal wrap-anywhere">{command.join(' ')}</code>
                )}
              </th>
              <td className={cellLook}>
                <State state={status} />
                {message !== undefined && <p className="mt-1 text-xs">{message}</p>}
              </td>
              <td className={wideCellLook}>{trigger}</td>
              <td className={wideCellLook}>{actor ?? text.none}</td>
              <td className={wideCellLook}>
                <Time at={createdAt} />
              </td>
              <td className={wideCellLook}>
                {startedAt !== undefined && endedAt !== undefined ? duration(startedAt, endedAt) : text.none}
              </td>
              <td className={cellLook}>
                <span className="flex flex-wrap gap-2">
                  <Button aria-label={words.logOf(name)} aria-pressed={name === selected} onClick={() => select(name)}>
                    {words.log}
                  </Button>
                  {mayStop && (
                    <Button
                      aria-label={isEnded(run) ? words.deleteName(name) : words.stopName(name)}
                      onClick={() => stop(run)}
                    >
                      {isEnded(run) ? words.delete : words.stop}
                    </Button>
                  )}
                </span>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface RunLogProps {
  workload: Workload;
  run: string;
  /** Absent where the log is all that the page shows. */
  hide?: () => void;
}

/** The log of one run, with a part for each of its attempts. */
export function RunLog({ workload, run, hide }: RunLogProps) {
  const { place, kind, name } = workload;
  return (
    <section aria-label={words.logOf(run)} className="flex flex-col gap-3">
      <h2 className="flex flex-wrap items-center gap-3 text-lg font-semibold">
        {words.logOf(run)}
        {hide && <Button onClick={hide}>{words.hide}</Button>}
      </h2>
      <Loaded query={useQuery(runLogQuery(workload, run))}>
        {({ pods }) => (
          <>
            {pods.length === 0 && <p className="text-sm">{words.noPods}</p>}
            {pods.map(({ name: pod, log = '', truncated }) => (
              <div key={pod} className="text-sm">
                {pods.length > 1 && <h3 className="mb-1 font-medium">{words.attempt(pod)}</h3>}
                {truncated && <p className="mb-1">{words.truncated}</p>}
                <LogText label={words.attempt(pod)} text={log} empty={words.noLog} />
              </div>
            ))}
          </>
        )}
      </Loaded>
      <Command command={commandOf(kind, 'logs', name, '--run', run, ...placeFlags(place))} />
    </section>
  );
}
