import { useState } from 'react';
import type { WebhookView } from '../../../../runtime/contracts/api/webhooks.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { appSettingsText } from '../text/app-settings.ts';

const words = appSettingsText.webhook;

interface DialogProps {
  place: Place;
  app: string;
  close: () => void;
}

const graces = [
  { value: '0', label: words.graces.none, flag: '0' },
  { value: '3600', label: words.graces.hour, flag: '1h' },
  { value: '86400', label: words.graces.day, flag: '1d' },
  { value: '604800', label: words.graces.week, flag: '7d' },
] as const;

interface TokenDialogProps extends DialogProps {
  /** Of the current token. */
  version: number;
  done: (secrets: WebhookView) => void;
}

/** Replaces the token of a webhook. */
export function TokenDialog({ place, app, version, close, done }: TokenDialogProps) {
  const [grace, setGrace] = useState('3600');
  // The token that was there when the dialog opened: one that someone else creates meanwhile stays.
  const [replaces] = useState(version);
  const rotate = useChange<WebhookView>(place, (view) => {
    close();
    done(view);
  });
  const flag = graces.find(({ value }) => value === grace)?.flag;
  return (
    <FormDialog
      title={words.rotateTitle}
      close={close}
      action={words.rotate}
      command={commandOf('app', 'webhook', 'enable', app, '--grace', flag, ...placeFlags(place))}
      request={rotate}
      submit={() =>
        rotate.mutate({
          path: ['apps', app, 'webhook'],
          method: 'PUT',
          body: { graceSeconds: Number(grace), replaces },
        })
      }
    >
      <p>{words.rotateWhat}</p>
      <Select label={words.grace} options={graces} value={grace} onChange={(event) => setGrace(event.target.value)} />
    </FormDialog>
  );
}

/** Changes which pushes and images deploy. */
export function SettingsDialog({
  place,
  app,
  close,
  branch = '',
  tags = '',
}: DialogProps & { branch: string | undefined; tags: string | undefined }) {
  const [before] = useState({ branch, tags });
  const save = useChange<WebhookView>(place, close);
  /** What differs from what the form showed first. */
  const changes = (form: HTMLFormElement) =>
    (['branch', 'tags'] as const)
      .map((field) => [field, valueOf(form, field)] as const)
      .filter(([field, value]) => value !== before[field]);
  const submit = (form: HTMLFormElement) => {
    const body = Object.fromEntries(changes(form).map(([field, value]) => [field, value === '' ? null : value]));
    save.mutate({ path: ['apps', app, 'webhook'], method: 'PATCH', body });
  };
  const status = commandOf('app', 'webhook', 'status', app, ...placeFlags(place));
  const commandFor = (form: HTMLFormElement) => {
    const flags = changes(form).flatMap(([field, value]) => [`--${field}`, value]);
    return flags.length === 0 ? status : commandOf('app', 'webhook', 'set', app, ...flags, ...placeFlags(place));
  };
  return (
    <FormDialog
      title={words.settingsTitle}
      close={close}
      action={words.save}
      command={status}
      commandFor={commandFor}
      request={save}
      submit={submit}
    >
      <Field
        label={words.fields.branch}
        name="branch"
        maxLength={250}
        autoComplete="off"
        defaultValue={before.branch}
      />
      <Field label={words.fields.tags} name="tags" maxLength={250} autoComplete="off" defaultValue={before.tags} />
    </FormDialog>
  );
}

/** Disables a webhook. */
export function DisableDialog({ place, app, close }: DialogProps) {
  const disable = useChange<undefined>(place, close);
  return (
    <FormDialog
      title={words.disableTitle}
      close={close}
      action={words.disable}
      look="danger"
      command={commandOf('app', 'webhook', 'disable', app, ...placeFlags(place))}
      request={disable}
      submit={() => disable.mutate({ path: ['apps', app, 'webhook'], method: 'DELETE' })}
    >
      <p>{words.disableWhat}</p>
    </FormDialog>
  );
}
