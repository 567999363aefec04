import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { z } from 'zod';
import type { tokenCreated, TokenView } from '../../../../runtime/contracts/api/tokens.ts';
import { dayMs } from '../../../../runtime/domain/period.ts';
import { includesRole } from '../../../../runtime/domain/roles.ts';
import { scopeRole, tokenScopes, type TokenScope } from '../../../../runtime/domain/token-scopes.ts';
import { useProjectChange } from '../api/change.ts';
import { commandOf } from '../api/command.ts';
import { projectQuery } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { OnceDialog } from '../parts/once-dialog.tsx';
import { accountText } from '../text/account.ts';

const words = accountText.tokens;

const lifetimes = [
  { value: '7', label: words.lifetimes.week },
  { value: '30', label: words.lifetimes.month },
  { value: '90', label: words.lifetimes.quarter },
  { value: '365', label: words.lifetimes.year },
] as const;

interface CreateProps {
  project: string;
  close: () => void;
  /** Gets the token, which is shown only once. */
  done: (token: string) => void;
}

/** Creates a token with scopes that the user's role allows. */
export function CreateTokenDialog({ project, close, done }: CreateProps) {
  const read = useQuery(projectQuery(project));
  const { data: view } = read;
  const [name, setName] = useState('');
  const [environment, setEnvironment] = useState('');
  const [days, setDays] = useState('90');
  const [scopes, setScopes] = useState<readonly TokenScope[]>(['read']);
  const create = useProjectChange<z.infer<typeof tokenCreated>>(project, ({ token }) => {
    close();
    done(token);
  });
  const { role = 'viewer', environments = [] } = view ?? {};
  const toggle = (scope: TokenScope) =>
    setScopes(tokenScopes.filter((other) => (other === scope) !== scopes.includes(other)));
  const flags = ['--scope', scopes.join(','), ...(environment === '' ? [] : ['--environment', environment])];
  return (
    <FormDialog
      title={words.create}
      close={close}
      action={words.create}
      // Until the role and the environments are known, the form offers less than there is.
      waits={read.isPending}
      disabled={view === undefined || scopes.length === 0}
      command={commandOf('token', 'create', name || 'ci', ...flags, '--expires', `${days}d`, '--project', project)}
      request={create}
      submit={() =>
        create.mutate({
          path: ['tokens'],
          method: 'POST',
          body: {
            name,
            scopes,
            ...(environment !== '' && { environment }),
            expiresAt: new Date(Date.now() + Number(days) * dayMs).toISOString(),
          },
        })
      }
    >
      {read.error && <ErrorNote error={read.error} retry={() => void read.refetch()} />}
      <Field
        label={words.fields.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
      />
      <Select
        label={words.fields.environment}
        options={[{ value: '', label: words.allEnvironments }, ...environments.map((each) => ({ value: each.name }))]}
        value={environment}
        onChange={(event) => setEnvironment(event.target.value)}
      />
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">{words.fields.scopes}</legend>
        {tokenScopes
          .filter((scope) => includesRole(role, scopeRole[scope]))
          .map((scope) => (
            <label key={scope} className="flex gap-2">
              <input type="checkbox" checked={scopes.includes(scope)} onChange={() => toggle(scope)} />
              <span>
                <code>{scope}</code>: {words.effects[scope]}
              </span>
            </label>
          ))}
      </fieldset>
      <Select
        label={words.fields.expires}
        options={lifetimes}
        value={days}
        onChange={(event) => setDays(event.target.value)}
      />
    </FormDialog>
  );
}

/** Shows a token for the only time. Only the button closes the dialog. */
export function NewTokenDialog({ token, close }: { token: string; close: () => void }) {
  return (
    <OnceDialog
      title={words.createdTitle}
      hint={words.once}
      secret={token}
      copy={words.copyToken}
      done={words.done}
      close={close}
    />
  );
}

/** Revokes a token. */
export function RevokeTokenDialog({
  project,
  token: { id, name },
  close,
}: {
  project: string;
  token: TokenView;
  close: () => void;
}) {
  const revoke = useProjectChange<undefined>(project, close);
  return (
    <FormDialog
      title={words.revokeTitle(name)}
      close={close}
      action={words.revoke}
      look="danger"
      command={commandOf('token', 'revoke', name, '--project', project)}
      request={revoke}
      submit={() => revoke.mutate({ path: ['tokens', id], method: 'DELETE' })}
    >
      <p>{words.revokeWhat}</p>
    </FormDialog>
  );
}
