import { useQuery } from '@tanstack/react-query';
import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Badge } from '../parts/badge.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { functionText } from '../text/functions.ts';
import { eventsQuery, viewQuery } from '../workloads/queries.ts';
import type { Workload } from '../workloads/workload.ts';
import { DeadLetters } from './dead-letters.tsx';
import { useFunction } from './function.tsx';

const words = functionText.events;

/** The event source of a function, its pending events, and its dead letters. */
export function FunctionEvents() {
  const workload = useFunction();
  const mayChange = useMay(workload.place.project, 'deployer');
  const { data: view } = useQuery(viewQuery(workload));
  if (!view?.events) return <p className="text-sm">{words.none}</p>;
  return (
    <div className="flex flex-col gap-8">
      <Source events={view.events} />
      <Pending workload={workload} />
      {mayChange && <DeadLetters workload={workload} />}
    </div>
  );
}

function Source({ events }: { events: NonNullable<FunctionView['events']> }) {
  const { source, type, query, markDone, list, bucket, concurrency, counts, more, readAt, error } = events;
  return (
    <div className="flex flex-col gap-4">
      {error !== undefined && <Note look="bad">{error}</Note>}
      {more && <Note look="warn">{words.more}</Note>}
      <Facts
        facts={[
          [words.source, `${source} (${type})`],
          [words.query, query !== undefined && <code>{query}</code>],
          [words.markDone, markDone !== undefined && <code>{markDone}</code>],
          [words.list, list],
          [words.bucket, bucket],
          [words.concurrency, concurrency],
          [words.counts, counts && words.countsOf(counts.waiting, counts.delivering, counts.marking, counts.dead)],
          [words.read, readAt !== undefined && <Time at={readAt} />],
        ]}
      />
    </div>
  );
}

const heads = [
  { title: words.event },
  { title: words.state },
  { title: words.found, wide: true },
  { title: words.failures, wide: true },
  { title: words.error, wide: true },
];

function Pending({ workload }: { workload: Workload }) {
  const { place, name } = workload;
  const command = commandOf('function', 'events', name, ...placeFlags(place));
  return (
    <section aria-labelledby="pending" className="flex flex-col gap-3">
      <h2 id="pending" className="text-lg font-semibold">
        {words.pendingTitle}
      </h2>
      <Loaded query={useQuery(eventsQuery(workload))}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title={words.pendingEmpty} hint={words.pendingHint} command={command} />
          ) : (
            <>
              <table className="w-full text-sm">
                <Cells heads={heads} />
                <tbody>
                  {items.map(({ id, event, state, foundAt, failures, lastError }) => (
                    <tr key={id} className={rowLook}>
                      <th scope="row" className={`${cellLook} text-left font-medium`}>
                        {event}
                      </th>
                      <td className={cellLook}>
                        <Badge tone={failures > 0 ? 'warn' : 'quiet'}>{words.states[state]}</Badge>
                      </td>
                      <td className={wideCellLook}>
                        <Time at={foundAt} />
                      </td>
                      <td className={wideCellLook}>{failures}</td>
                      <td className={wideCellLook}>{lastError ?? text.none}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
              <Command command={command} />
            </>
          )
        }
      </Loaded>
    </section>
  );
}
