import { useId, useState } from 'react';
import type { GitSourceView } from '../../../../runtime/contracts/api/git.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { withoutPassword } from './draft.ts';

const words = appSettingsText.git;

interface DialogProps {
  place: Place;
  app: string;
  close: () => void;
}

/** What to do with the credentials of a git source. */
type Credentials = 'keep' | 'none' | 'token' | 'deployKey';

/** A secret is never in a command: `svc` asks for it, or reads it from a file. */
const credentialFlags: Readonly<Record<string, readonly string[]>> = {
  none: ['--no-credentials'],
  token: ['--ask-token'],
  deployKey: ['--deploy-key-file', 'key'],
};

const textFields = ['branch', 'path', 'dockerfile'] as const;

/** What the form shows first. */
const textsOf = ({ url, branch, path, dockerfile }: GitSourceView) => ({ url, branch, path, dockerfile });

function credentialsOf(choice: Credentials, secret: string) {
  if (choice === 'keep') return {};
  if (choice === 'none') return { credentials: null };
  return { credentials: choice === 'token' ? { token: secret.trim() } : { deployKey: secret } };
}

/** Connects a repository, or changes what is built of it. */
export function SourceDialog({ place, app, source, close }: DialogProps & { source: GitSourceView }) {
  const id = useId();
  const [before] = useState(source);
  const [choice, setChoice] = useState<Credentials>(before.configured ? 'keep' : 'none');
  const save = useChange<GitSourceView>(place, close);
  const submit = (form: HTMLFormElement) => {
    const [path, dockerfile] = [valueOf(form, 'path'), valueOf(form, 'dockerfile')];
    const body = {
      url: valueOf(form, 'url'),
      branch: valueOf(form, 'branch'),
      ...(path !== '' && { path }),
      ...(dockerfile !== '' && { dockerfile }),
      ...credentialsOf(choice, valueOf(form, 'secret')),
    };
    save.mutate({ path: ['apps', app, 'git'], method: 'PUT', body });
  };
  const choices = (['keep', 'none', 'token', 'deployKey'] as const)
    .filter((value) => before.configured || value !== 'keep')
    .map((value) => ({ value, label: words.choices[value] }));
  const commandFor = (valueIn: (field: string) => string) =>
    commandOf(
      ...['app', 'git', 'set', app, '--url', withoutPassword(valueIn('url') || 'https://git.example.com/shop/api.git')],
      ...textFields.flatMap((field) => (valueIn(field) === '' ? [] : [`--${field}`, valueIn(field)])),
      ...(credentialFlags[valueIn('credentials')] ?? []),
      ...placeFlags(place),
    );
  const first: Readonly<Record<string, string | undefined>> = { ...textsOf(before), credentials: choice };
  return (
    <FormDialog
      title={before.configured ? words.edit : words.connect}
      close={close}
      action={before.configured ? words.save : words.connect}
      command={commandFor((field) => first[field] ?? '')}
      commandFor={(form) => commandFor((field) => valueOf(form, field))}
      request={save}
      submit={submit}
    >
      <Field
        label={words.fields.url}
        name="url"
        required
        autoComplete="off"
        spellCheck={false}
        defaultValue={before.url}
      />
      <Field
        label={words.fields.branch}
        name="branch"
        required
        autoComplete="off"
        spellCheck={false}
        defaultValue={before.branch ?? 'main'}
      />
      <Field label={words.fields.path} name="path" autoComplete="off" spellCheck={false} defaultValue={before.path} />
      <Field
        label={words.fields.dockerfile}
        name="dockerfile"
        autoComplete="off"
        spellCheck={false}
        defaultValue={before.dockerfile}
      />
      <Select
        label={words.fields.credentials}
        name="credentials"
        options={choices}
        value={choice}
        onChange={(event) => setChoice(choices.find(({ value }) => value === event.target.value)?.value ?? 'none')}
      />
      {choice === 'token' && (
        <Field label={words.fields.secret} name="secret" type="password" required autoComplete="off" />
      )}
      {choice === 'deployKey' && (
        <div>
          <label htmlFor={id} className="mb-1 block text-sm font-medium">
            {words.fields.secret}
          </label>
          <textarea
            id={id}
            name="secret"
            required
            rows={5}
            spellCheck={false}
            autoComplete="off"
            className="w-full rounded-md border border-zinc-400 bg-white p-3 font-mono text-xs dark:border-zinc-600 dark:bg-zinc-900"
          />
        </div>
      )}
    </FormDialog>
  );
}

/** Removes the git source of an app. */
export function RemoveDialog({ place, app, close }: DialogProps) {
  const remove = useChange<undefined>(place, close);
  return (
    <FormDialog
      title={words.removeTitle}
      close={close}
      action={words.remove}
      look="danger"
      command={commandOf('app', 'git', 'remove', app, ...placeFlags(place))}
      request={remove}
      submit={() => remove.mutate({ path: ['apps', app, 'git'], method: 'DELETE' })}
    >
      <p>{words.removeWhat}</p>
    </FormDialog>
  );
}
