import { useQuery } from '@tanstack/react-query';
import type { PodView } from '../../../../runtime/contracts/api/pods.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { State } from '../parts/badge.tsx';
import { Command } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { workloadText } from '../text/workloads.ts';
import { podsQuery } from './queries.ts';
import { useWorkload } from './use-workload.ts';

const words = workloadText.pods;

/** The pods of an app or function as they are now: their state, restarts, and why one does not run. */
export function Pods() {
  const workload = useWorkload();
  const { place, kind, name } = workload;
  return (
    <section aria-labelledby="pods" className="flex flex-col gap-3">
      <h2 id="pods" className="text-lg font-semibold">
        {words.title}
      </h2>
      <Loaded query={useQuery(podsQuery(workload))}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-sm">{words.none}</p>
          ) : (
            <PodTable pods={items} hasRevisions={kind === 'app'} />
          )
        }
      </Loaded>
      <Command command={commandOf(kind, 'pods', name, ...placeFlags(place))} />
    </section>
  );
}

function PodTable({ pods, hasRevisions }: { pods: readonly PodView[]; hasRevisions: boolean }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.pod },
          { title: words.status },
          ...(hasRevisions ? [{ title: words.revision, wide: true }] : []),
          { title: words.restarts },
          { title: words.created, wide: true },
        ]}
      />
      <tbody>
        {pods.map(({ name, status, revision, restarts, reason, exitCode, message, createdAt }) => (
          <tr key={name} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              {name}
            </th>
            <td className={cellLook}>
              <State state={status} />
              {reason !== undefined && (
                <p className="mt-1 text-xs">
                  {exitCode === undefined ? reason : words.exited(reason, exitCode)}
                  {message !== undefined && `: ${message}`}
                </p>
              )}
            </td>
            {hasRevisions && <td className={wideCellLook}>{revision ?? text.none}</td>}
            <td className={cellLook}>{restarts}</td>
            <td className={wideCellLook}>
              <Time at={createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
