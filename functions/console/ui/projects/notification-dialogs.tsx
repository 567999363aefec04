import { useState } from 'react';
import type { z } from 'zod';
import type { notificationWithSecret, NotificationView } from '../../../../runtime/contracts/api/notifications.ts';
import { notificationEvents } from '../../../../runtime/domain/notification.ts';
import { useProjectChange } from '../api/change.ts';
import { commandOf } from '../api/command.ts';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { OnceDialog } from '../parts/once-dialog.tsx';
import { notificationText as words } from '../text/project.ts';

type NewNotification = z.infer<typeof notificationWithSecret>;

interface DialogProps {
  project: string;
  target: NotificationView;
  close: () => void;
}

const listOf = (form: HTMLFormElement, name: string) =>
  valueOf(form, name)
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

interface NotificationDialogProps extends Omit<DialogProps, 'target'> {
  /** Absent for a new one. */
  target?: NotificationView;
  /** Gets a new one with its secret. */
  done?: (created: NewNotification) => void;
}

/** Creates a notification, or changes one. */
export function NotificationDialog({ project, target, close, done }: NotificationDialogProps) {
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before] = useState(target);
  const [events, setEvents] = useState<readonly string[]>(before?.events ?? notificationEvents);
  const save = useProjectChange<NewNotification>(project, (view) => {
    close();
    done?.(view);
  });
  const submit = (form: HTMLFormElement) => {
    const values = { name: valueOf(form, 'name'), url: valueOf(form, 'url'), events };
    const filters = { apps: listOf(form, 'apps'), environments: listOf(form, 'environments') };
    if (!before) {
      const chosen = Object.entries(filters).filter(([, names]) => names.length > 0);
      save.mutate({ path: ['notifications'], method: 'POST', body: { ...values, ...Object.fromEntries(chosen) } });
      return;
    }
    const changed = [
      ...Object.entries(values).filter(
        ([field, value]) => String(value) !== String(before[field as keyof typeof values]),
      ),
      ...Object.entries(filters)
        .filter(([field, names]) => names.join() !== (before[field as keyof typeof filters] ?? []).join())
        .map(([field, names]) => [field, names.length === 0 ? null : names] as const),
    ];
    if (changed.length === 0) {
      close();
      return;
    }
    save.mutate({ path: ['notifications', before.id], method: 'PATCH', body: Object.fromEntries(changed) });
  };
  const command = before ? ['update', before.name] : ['create', 'ops'];
  return (
    <FormDialog
      title={before ? words.editTitle(before.name) : words.create}
      close={close}
      action={before ? words.save : words.create}
      disabled={events.length === 0}
      command={commandOf(
        ...['notification', ...command, '--url', 'https://hooks.example.com/svc', '--project', project],
      )}
      request={save}
      submit={submit}
    >
      <Field
        label={words.fields.name}
        name="name"
        required
        maxLength={63}
        autoComplete="off"
        spellCheck={false}
        defaultValue={before?.name}
      />
      <Field
        label={words.fields.url}
        name="url"
        type="url"
        required
        maxLength={2000}
        autoComplete="off"
        defaultValue={before?.url}
      />
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">{words.fields.events}</legend>
        {notificationEvents.map((event) => (
          <label key={event} className="flex gap-2">
            <input
              type="checkbox"
              checked={events.includes(event)}
              onChange={() =>
                setEvents(notificationEvents.filter((other) => (other === event) !== events.includes(other)))
              }
            />
            {words.eventNames[event]}
          </label>
        ))}
      </fieldset>
      <Field
        label={words.fields.apps}
        name="apps"
        autoComplete="off"
        spellCheck={false}
        defaultValue={before?.apps?.join(', ')}
      />
      <Field
        label={words.fields.environments}
        name="environments"
        autoComplete="off"
        spellCheck={false}
        defaultValue={before?.environments?.join(', ')}
      />
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
  project,
  target: { id, name },
  close,
  done,
}: DialogProps & { done: (secret: string) => void }) {
  const rotate = useProjectChange<NewNotification>(project, ({ secret }) => {
    close();
    done(secret);
  });
  return (
    <FormDialog
      title={words.rotateTitle}
      close={close}
      action={words.rotate}
      command={commandOf('notification', 'rotate', name, '--project', project)}
      request={rotate}
      submit={() => rotate.mutate({ path: ['notifications', id, 'rotate'], method: 'POST' })}
    >
      <p>{words.rotateWhat}</p>
    </FormDialog>
  );
}

/** Deletes a notification with its pending messages. */
export function DeleteNotificationDialog({
  project,
  target: { id, name },
  close,
  done,
}: DialogProps & { done: () => void }) {
  const remove = useProjectChange<undefined>(project, () => {
    close();
    done();
  });
  return (
    <FormDialog
      title={words.deleteTitle(name)}
      close={close}
      action={words.delete}
      look="danger"
      command={commandOf('notification', 'delete', name, '--project', project)}
      request={remove}
      submit={() => remove.mutate({ path: ['notifications', id], method: 'DELETE' })}
    >
      <p>{words.deleteWhat}</p>
    </FormDialog>
  );
}
