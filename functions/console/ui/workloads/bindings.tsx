import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { BindingView } from '../../../../runtime/contracts/api/bindings.ts';
import { useMay } from '../api/role.ts';
import { ObjectLinks } from '../environment/object-links.tsx';
import { State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { commandOf, placeFlags } from '../api/command.ts';
import { text } from '../text/common.ts';
import { workloadText } from '../text/workloads.ts';
import { BindDialog, RenewDialog, UnbindDialog } from './binding-dialogs.tsx';
import { bindingsQuery } from './queries.ts';
import type { Workload } from './workload.ts';

const words = workloadText.bindings;

type Choice = { action: 'bind' } | { action: 'renew' | 'unbind'; service: string };

/** The services that a workload is bound to, and the variables that it gets from each. */
export function Bindings(workload: Workload) {
  const { place, kind, name } = workload;
  const mayChange = useMay(place.project, 'deployer');
  const [choice, setChoice] = useState<Choice>();
  const query = useQuery(bindingsQuery(workload));
  const props = { workload, close: () => setChoice(undefined) };
  return (
    <section aria-labelledby="bindings" className="flex flex-col gap-4">
      <h2 id="bindings" className="text-lg font-semibold">
        {words.title}
      </h2>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title={words.empty(kind)}
              hint={words.emptyHint}
              command={commandOf(kind, 'bind', name, 'orders', ...placeFlags(place))}
            />
          ) : (
            <>
              <BindingTable workload={workload} bindings={items} {...(mayChange && { choose: setChoice })} />
              <Command command={commandOf(kind, 'bindings', name, ...placeFlags(place))} />
            </>
          )
        }
      </Loaded>
      {mayChange && query.data && (
        <div>
          <Button onClick={() => setChoice({ action: 'bind' })}>{words.bind}</Button>
        </div>
      )}
      {choice?.action === 'bind' && (
        <BindDialog {...props} bound={(query.data?.items ?? []).map(({ service }) => service)} />
      )}
      {choice?.action === 'renew' && <RenewDialog {...props} service={choice.service} />}
      {choice?.action === 'unbind' && <UnbindDialog {...props} service={choice.service} />}
    </section>
  );
}

interface TableProps {
  workload: Workload;
  bindings: readonly BindingView[];
  choose?: (choice: Choice) => void;
}

function BindingTable({ workload: { place }, bindings, choose }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.service },
          { title: words.status },
          { title: words.variables, wide: true },
          { title: words.database, wide: true },
          ...(choose ? [{ title: words.actions }] : []),
        ]}
      />
      <tbody>
        {bindings.map(({ service, type, status, message, variables, database }) => (
          <tr key={service} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left`}>
              <ObjectLinks
                place={place}
                items={[{ kind: 'service', name: service, remark: type === undefined ? '' : `(${type})` }]}
              />
            </th>
            <td className={cellLook}>
              <State state={status} />
              {message !== undefined && <p className="mt-1 text-xs">{message}</p>}
            </td>
            <td className={`${wideCellLook} font-mono text-xs`}>{variables.join(', ') || text.none}</td>
            <td className={wideCellLook}>{database ?? text.none}</td>
            {choose && (
              <td className={cellLook}>
                {status !== 'deleting' && (
                  <span className="flex flex-wrap gap-2">
                    <Button aria-label={words.renewName(service)} onClick={() => choose({ action: 'renew', service })}>
                      {words.renew}
                    </Button>
                    <Button
                      aria-label={words.unbindName(service)}
                      onClick={() => choose({ action: 'unbind', service })}
                    >
                      {words.unbind}
                    </Button>
                  </span>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
