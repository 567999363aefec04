import { useState } from 'react';
import type { Change } from '../../../../runtime/contracts/api/gate.ts';
import type { PlanView } from '../../../../runtime/contracts/api/plans.ts';
import { periods } from '../../../../runtime/domain/period.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { keyText } from '../text/keys.ts';
import type { GateOutcome } from './gate-progress.tsx';

const words = keyText.plans;

interface DialogProps {
  place: Place;
  close: () => void;
  done: (outcome: GateOutcome) => void;
}

/** The limits in the form. */
function limitsOf(form: HTMLFormElement) {
  const quota = valueOf(form, 'quota');
  return {
    name: valueOf(form, 'name'),
    requestsPerSecond: Number(valueOf(form, 'rate')),
    burst: Number(valueOf(form, 'burst')),
    quota: quota === '' ? null : { limit: Number(quota), period: valueOf(form, 'period') },
  };
}

/** Creates or changes a plan. @param current absent for a new plan */
export function PlanDialog({ place, current, close, done }: DialogProps & { current?: PlanView }) {
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before] = useState(current);
  const save = useChange<{ change?: Change }>(place, ({ change }) => {
    close();
    done({ change, verb: 'applied' });
  });
  const submit = (form: HTMLFormElement) => {
    const { quota, ...limits } = limitsOf(form);
    if (!before) {
      save.mutate({ path: ['plans'], method: 'POST', body: { ...limits, ...(quota && { quota }) } });
      return;
    }
    const { id, name, requestsPerSecond, burst } = before;
    const sameQuota = quota?.limit === before.quota?.limit && quota?.period === before.quota?.period;
    const body = {
      ...(limits.name !== name && { name: limits.name }),
      ...(limits.requestsPerSecond !== requestsPerSecond && { requestsPerSecond: limits.requestsPerSecond }),
      ...(limits.burst !== burst && { burst: limits.burst }),
      ...(!sameQuota && { quota }),
    };
    save.mutate({ path: ['plans', id], method: 'PATCH', body });
  };
  const command = before ? ['update', before.name] : ['create', 'small'];
  const { requestsPerSecond = 5, burst = 10, quota } = before ?? {};
  const limits = ['--rate', String(requestsPerSecond), '--burst', String(burst)];
  return (
    <FormDialog
      title={before ? words.editTitle(before.name) : words.create}
      close={close}
      action={before ? words.save : words.create}
      command={commandOf('plan', ...command, ...limits, ...placeFlags(place))}
      request={save}
      submit={submit}
    >
      <Field
        label={words.fields.name}
        name="name"
        required
        maxLength={100}
        autoComplete="off"
        defaultValue={before?.name}
      />
      <Field
        label={words.fields.rate}
        name="rate"
        type="number"
        min="0.001"
        max="1000000"
        step="any"
        required
        defaultValue={requestsPerSecond}
      />
      <Field
        label={words.fields.burst}
        name="burst"
        type="number"
        min="1"
        max="1000000"
        required
        defaultValue={burst}
      />
      <Field label={words.fields.quota} name="quota" type="number" min="1" defaultValue={quota?.limit} />
      <Select
        label={words.fields.period}
        name="period"
        options={periods.map((period) => ({ value: period, label: words.periods[period] }))}
        defaultValue={quota?.period ?? 'day'}
      />
      <p>{words.hint}</p>
    </FormDialog>
  );
}

/** Deletes a plan that no key is on. */
export function DeletePlanDialog({ place, name, close, done }: DialogProps & { name: string }) {
  const remove = useChange<{ change?: Change }>(place, ({ change }) => {
    close();
    done({ change, verb: 'applied' });
  });
  return (
    <FormDialog
      title={words.deleteTitle(name)}
      close={close}
      action={words.delete}
      look="danger"
      command={commandOf('plan', 'delete', name, ...placeFlags(place))}
      request={remove}
      submit={() => remove.mutate({ path: ['plans', name], method: 'DELETE' })}
    >
      <p>{words.deleteWhat}</p>
    </FormDialog>
  );
}
