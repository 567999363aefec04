import type { WebhookView } from '../../../../runtime/contracts/api/webhooks.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { OnceDialog } from '../parts/once-dialog.tsx';
import { appSettingsText } from '../text/app-settings.ts';

const words = appSettingsText.secretUrl;

interface DialogProps {
  place: Place;
  app: string;
  close: () => void;
}

/** Creates a secret URL for senders that do not sign, or replaces the one that exists. */
export function CreateSecretUrlDialog({
  place,
  app,
  replaces,
  close,
  done,
}: DialogProps & { replaces: boolean; done: (url: string) => void }) {
  const create = useChange<WebhookView>(place, ({ secretUrl }) => {
    close();
    if (secretUrl !== undefined) done(secretUrl);
  });
  return (
    <FormDialog
      title={replaces ? words.replaceTitle : words.create}
      close={close}
      action={replaces ? words.replace : words.create}
      command={commandOf('app', 'webhook', 'set', app, '--secret-url', 'on', ...placeFlags(place))}
      request={create}
      submit={() => create.mutate({ path: ['apps', app, 'webhook'], method: 'PATCH', body: { secretUrl: true } })}
    >
      <p>{words.what}</p>
      {replaces && <p>{words.replaceWhat}</p>}
    </FormDialog>
  );
}

/** Deletes the secret URL. */
export function DeleteSecretUrlDialog({ place, app, close }: DialogProps) {
  const remove = useChange<WebhookView>(place, close);
  return (
    <FormDialog
      title={words.deleteTitle}
      close={close}
      action={words.delete}
      look="danger"
      command={commandOf('app', 'webhook', 'set', app, '--secret-url', 'off', ...placeFlags(place))}
      request={remove}
      submit={() => remove.mutate({ path: ['apps', app, 'webhook'], method: 'PATCH', body: { secretUrl: false } })}
    >
      <p>{words.deleteWhat}</p>
    </FormDialog>
  );
}

/** Shows a secret URL for the only time. Only the button closes the dialog. */
export function NewSecretUrlDialog({ url, close }: { url: string; close: () => void }) {
  return (
    <OnceDialog
      title={words.createdTitle}
      hint={words.once}
      secret={url}
      copy={words.copy}
      done={words.done}
      close={close}
    />
  );
}
