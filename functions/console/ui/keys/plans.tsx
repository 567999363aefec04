import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { PlanView } from '../../../../runtime/contracts/api/plans.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, Heading, rowLook, wideCellLook } from '../parts/page.tsx';
import { useCreation } from '../shell/creation.ts';
import { text } from '../text/common.ts';
import { keyText } from '../text/keys.ts';
import { GateProgress, type GateOutcome } from './gate-progress.tsx';
import { DeletePlanDialog, PlanDialog } from './plan-dialogs.tsx';
import { plansQuery } from './queries.ts';

const words = keyText.plans;

interface Choice {
  action: 'edit' | 'delete';
  plan: PlanView;
}

/** The usage plans of an environment. */
export function Plans() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const mayChange = useMay(place.project, 'admin');
  const [creates, setCreates] = useCreation();
  const [choice, setChoice] = useState<Choice>();
  const [outcome, setOutcome] = useState<GateOutcome>();
  const plans = useQuery(plansQuery(place));
  const props = { place, close: () => setChoice(undefined), done: setOutcome };
  return (
    <>
      <Crumbs {...place} />
      <Heading title={words.title}>
        <span className="flex-1" />
        {mayChange && (
          <Button look="primary" onClick={() => setCreates(true)}>
            {words.create}
          </Button>
        )}
      </Heading>
      <div className="flex flex-col gap-4">
        {outcome && <GateProgress {...outcome} />}
        <Loaded query={plans}>
          {({ items, nextCursor }) =>
            items.length === 0 ? (
              <Empty
                title={words.empty}
                hint={words.emptyHint}
                command={commandOf('plan', 'create', 'small', '--rate', '5', '--burst', '10', ...placeFlags(place))}
              />
            ) : (
              <>
                <PlanTable plans={items} {...(mayChange && { choose: setChoice })} />
                {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
                <Command command={commandOf('plan', 'list', ...placeFlags(place))} />
              </>
            )
          }
        </Loaded>
      </div>
      {creates && mayChange && <PlanDialog {...props} close={() => setCreates(false)} />}
      {choice?.action === 'edit' && (
        <PlanDialog {...props} current={plans.data?.items.find(({ id }) => id === choice.plan.id) ?? choice.plan} />
      )}
      {choice?.action === 'delete' && <DeletePlanDialog {...props} name={choice.plan.name} />}
    </>
  );
}

function PlanTable({ plans, choose }: { plans: readonly PlanView[]; choose?: (choice: Choice) => void }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.name },
          { title: words.rate },
          { title: words.burst, wide: true },
          { title: words.quota, wide: true },
          { title: words.keyCount, wide: true },
          ...(choose ? [{ title: words.actions }] : []),
        ]}
      />
      <tbody>
        {plans.map((plan) => (
          <tr key={plan.id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              {plan.name}
            </th>
            <td className={cellLook}>{plan.requestsPerSecond.toLocaleString('en')}</td>
            <td className={wideCellLook}>{plan.burst.toLocaleString('en')}</td>
            <td className={wideCellLook}>{quotaOf(plan)}</td>
            <td className={wideCellLook}>{plan.keys.toLocaleString('en')}</td>
            {choose && (
              <td className={cellLook}>
                <span className="flex flex-wrap gap-2">
                  <Button aria-label={words.editName(plan.name)} onClick={() => choose({ action: 'edit', plan })}>
                    {words.edit}
                  </Button>
                  {plan.keys === 0 && (
                    <Button aria-label={words.deleteName(plan.name)} onClick={() => choose({ action: 'delete', plan })}>
                      {words.delete}
                    </Button>
                  )}
                </span>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function quotaOf({ quota }: PlanView): string {
  return quota ? words.quotaOf(quota.limit.toLocaleString('en'), words.periods[quota.period]) : words.noQuota;
}
