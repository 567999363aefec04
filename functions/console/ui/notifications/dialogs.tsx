import { useState } from 'react';
import type { z } from 'zod';
import type { notificationWithSecret, NotificationView } from '../../../../runtime/contracts/api/notifications.ts';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { OnceDialog } from '../parts/once-dialog.tsx';
import { notificationText as words } from '../text/notifications.ts';
import { useNotificationChange } from './change.ts';
import { changeBody, changeWords, createBody, createWords, draftOf, newNotification } from './draft.ts';
import type { NotificationOwner } from './owner.ts';

type NewNotification = z.infer<typeof notificationWithSecret>;

interface DialogProps {
  owner: NotificationOwner;
  target: NotificationView;
  close: () => void;
}

interface NotificationDialogProps extends Omit<DialogProps, 'target'> {
  /** Absent for a new one. */
  target?: NotificationView;
  /** Gets a new one with its secret. */
  done?: (created: NewNotification) => void;
}

/** Creates a notification, or changes one. */
export function NotificationDialog({ owner, target, close, done }: NotificationDialogProps) {
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before] = useState(target && { id: target.id, url: target.url, draft: draftOf(target) });
  const [draft, setDraft] = useState(before?.draft ?? newNotification(owner));
  const [hasNewUrl, setHasNewUrl] = useState(false);
  const { events } = draft;
  const save = useNotificationChange<NewNotification>(owner, (view) => {
    close();
    done?.(view);
  });
  const submit = (form: HTMLFormElement) => {
    const url = valueOf(form, 'url');
    if (!before) {
      save.mutate({ path: [], method: 'POST', body: createBody(draft, url) });
      return;
    }
    const body = changeBody(before.draft, draft, url === before.url ? undefined : url);
    if (Object.keys(body).length === 0) {
      close();
      return;
    }
    save.mutate({ path: [before.id], method: 'PATCH', body });
  };
  const input = (field: 'name' | 'apps' | 'environments', more: React.ComponentProps<'input'> = {}) => (
    <Field
      label={words.fields[field]}
      value={draft[field]}
      onChange={(event) => setDraft({ ...draft, [field]: event.target.value })}
      autoComplete="off"
      spellCheck={false}
      {...more}
    />
  );
  const command = before ? changeWords(owner, before.draft, draft, hasNewUrl) : createWords(owner, draft);
  return (
    <FormDialog
      title={before ? words.editTitle(before.draft.name) : words.create}
      close={close}
      action={before ? words.save : words.create}
      disabled={events.length === 0}
      command={owner.command(...command)}
      request={save}
      submit={submit}
    >
      {input('name', { required: true, maxLength: 63 })}
      <Field
        label={words.fields.url}
        name="url"
        type="url"
        required
        maxLength={2000}
        autoComplete="off"
        defaultValue={before?.url}
        onChange={(event) => setHasNewUrl(event.target.value !== before?.url)}
      />
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">{words.fields.events}</legend>
        {owner.events.map((event) => (
          <label key={event} className="flex gap-2">
            <input
              type="checkbox"
              checked={events.includes(event)}
              onChange={() =>
                setDraft({
                  ...draft,
                  events: owner.events.filter((other) => (other === event) !== events.includes(other)),
                })
              }
            />
            {words.eventNames[event]}
          </label>
        ))}
      </fieldset>
      {owner.project !== undefined && input('apps')}
      {owner.project !== undefined && input('environments')}
    </FormDialog>
  );
}

/** Shows a signing secret for the only time. Only the button closes the dialog. */
export function SecretDialog({ secret, close }: { secret: string; close: () => void }) {
  return (
    <OnceDialog
      title={words.secretTitle}
      hint={words.secretOnce}
      secret={secret}
      copy={words.copySecret}
      done={words.done}
      close={close}
    />
  );
}

/** Replaces the signing secret of a notification. */
export function RotateDialog({
  owner,
  target: { id, name },
  close,
  done,
}: DialogProps & { done: (secret: string) => void }) {
  const rotate = useNotificationChange<NewNotification>(owner, ({ secret }) => {
    close();
    done(secret);
  });
  return (
    <FormDialog
      title={words.rotateTitle}
      close={close}
      action={words.rotate}
      command={owner.command('rotate', name)}
      request={rotate}
      submit={() => rotate.mutate({ path: [id, 'rotate'], method: 'POST' })}
    >
      <p>{words.rotateWhat}</p>
    </FormDialog>
  );
}

/** Deletes a notification with its pending messages. */
export function DeleteNotificationDialog({
  owner,
  target: { id, name },
  close,
  done,
}: DialogProps & { done: () => void }) {
  const remove = useNotificationChange<undefined>(owner, () => {
    close();
    done();
  });
  return (
    <FormDialog
      title={words.deleteTitle(name)}
      close={close}
      action={words.delete}
      look="danger"
      command={owner.command('delete', name)}
      request={remove}
      submit={() => remove.mutate({ path: [id], method: 'DELETE' })}
    >
      <p>{words.deleteWhat}</p>
    </FormDialog>
  );
}
