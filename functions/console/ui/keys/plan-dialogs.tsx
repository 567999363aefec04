import { useState } from 'react';
import type { Change } from '../../../../runtime/contracts/api/gate.ts';
import type { PlanView } from '../../../../runtime/contracts/api/plans.ts';
import { periods } from '../../../../runtime/domain/period.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.tsx';
import { Select } from '../parts/choice.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { keyText } from '../text/keys.ts';
import type { GateOutcome } from './gate-progress.tsx';
import {
  changeBody,
  changedSettings,
  changeWords,
  createBody,
  createWords,
  planDraftOf,
  planFields,
  settingText,
  type PlanDraft,
} from './plan-draft.ts';

const words = keyText.plans;

interface DialogProps {
  place: Place;
  close: () => void;
  done: (outcome: GateOutcome) => void;
}

/** What is written in the form. */
function draftIn(form: HTMLFormElement): PlanDraft {
  return Object.fromEntries(planFields.map((field) => [field, valueOf(form, field)])) as PlanDraft;
}

const newPlan: PlanDraft = { name: '', rate: '5', burst: '10', quota: '', period: 'day' };

/** Creates or changes a plan. @param current the current plan; absent for a new one */
export function PlanDialog({ place, current, close, done }: DialogProps & { current?: PlanView }) {
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before] = useState(current && { id: current.id, draft: planDraftOf(current) });
  const seen = current && planDraftOf(current);
  const save = useChange<{ change?: Change }>(place, ({ change }) => {
    close();
    done({ change, verb: 'applied' });
  });
  const submit = (draft: PlanDraft) => {
    if (before && seen) {
      const body = changeBody(before.draft, draft, seen);
      save.mutate({ path: ['plans', before.id], method: 'PATCH', body });
    } else save.mutate({ path: ['plans'], method: 'POST', body: createBody(draft) });
  };
  const first = before?.draft ?? newPlan;
  const commandFor = (draft: PlanDraft) =>
    commandOf(...(before ? changeWords(first, draft) : createWords(draft)), ...placeFlags(place));
  return (
    <FormDialog
      title={before ? words.editTitle(first.name) : words.create}
      close={close}
      action={before ? words.save : words.create}
      command={commandFor(first)}
      commandFor={(form) => commandFor(draftIn(form))}
      request={save}
      submit={(form) => submit(draftIn(form))}
    >
      <Field
        label={words.fields.name}
        name="name"
        required
        maxLength={100}
        autoComplete="off"
        defaultValue={first.name}
      />
      <Field
        label={words.fields.rate}
        name="rate"
        type="number"
        min="0.001"
        max="1000000"
        step="any"
        required
        defaultValue={first.rate}
      />
      <Field
        label={words.fields.burst}
        name="burst"
        type="number"
        min="1"
        max="1000000"
        required
        defaultValue={first.burst}
      />
      <Field label={words.fields.quota} name="quota" type="number" min="1" defaultValue={first.quota} />
      <Select
        label={words.fields.period}
        name="period"
        options={periods.map((period) => ({ value: period, label: words.periods[period] }))}
        defaultValue={first.period}
      />
      <p>{words.hint}</p>
      {before && seen && (
        <ChangedMeanwhile
          differences={changedSettings(before.draft, seen).map((name) => ({
            title: words.fields[name],
            before: settingText(name, before.draft),
            after: settingText(name, seen),
          }))}
        />
      )}
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
