import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { ServiceCredentials, ServiceView } from '../../../../runtime/contracts/api/services.ts';
import { useChange } from '../api/change.ts';
import { CreationPage } from '../environment/creation-page.tsx';
import { Select } from '../parts/choice.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { createText } from '../text/create.ts';
import { serviceText } from '../text/services.ts';
import {
  credentialFields,
  isSecret,
  newService,
  serviceBody,
  serviceWords,
  type ServiceDraft,
} from './service-draft.ts';

const words = createText.service;
const types = (['postgres', 'mysql', 'mongodb', 'redis', 'minio'] as const).map((value) => ({
  value,
  label: words.types[value],
}));
const origins = (['managed', 'external'] as const).map((value) => ({ value, label: words.origins[value] }));

/** The form of a new service that the platform runs, or that it registers. */
export function NewService() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const navigate = useNavigate();
  const [draft, setDraft] = useState(newService);
  const create = useChange<ServiceView>(place, ({ name }) => {
    const params = { ...place, service: name };
    void navigate({ to: '/projects/$project/environments/$environment/services/$service', params });
  });
  return (
    <CreationPage
      place={place}
      words={words}
      submit={(form) =>
        create.mutate({ path: ['services'], method: 'POST', body: serviceBody(draft, valueOf(form, 'secret')) })
      }
      disabled={create.isPending}
      error={create.error}
      command={serviceWords(draft)}
    >
      <ServiceFields draft={draft} change={setDraft} />
    </CreationPage>
  );
}

interface FieldsProps {
  draft: ServiceDraft;
  change: (draft: ServiceDraft) => void;
}

type TextField = 'name' | 'size' | 'storageClass' | 'host' | 'port';

function ServiceFields({ draft, change }: FieldsProps) {
  const input = (field: TextField, more: React.ComponentProps<'input'> = {}) => (
    <Field
      label={words.fields[field]}
      value={draft[field]}
      onChange={(event) => change({ ...draft, [field]: event.target.value })}
      autoComplete="off"
      spellCheck={false}
      {...more}
    />
  );
  return (
    <>
      {input('name', { required: true, maxLength: 63 })}
      <Select
        label={words.fields.type}
        value={draft.type}
        options={types}
        onChange={({ target }) =>
          change({
            ...draft,
            type: types.find(({ value }) => value === target.value)?.value ?? 'postgres',
            hasSecret: false,
          })
        }
      />
      <Select
        label={words.origin}
        value={draft.external ? 'external' : 'managed'}
        options={origins}
        onChange={(event) => change({ ...draft, external: event.target.value === 'external', hasSecret: false })}
      />
      <p className="text-sm">{words.hint[draft.external ? 'external' : 'managed']}</p>
      {!draft.external && (
        <>
          {input('size', { maxLength: 22 })}
          {input('storageClass', { maxLength: 253 })}
        </>
      )}
      {draft.external && (
        <>
          {input('host', { required: true, maxLength: 253 })}
          {input('port', { type: 'number', min: 1, max: 65_535 })}
          <label className="flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={draft.tls}
              onChange={(event) => change({ ...draft, tls: event.target.checked })}
            />
            {words.fields.tls}
          </label>
          <Credentials key={draft.type} draft={draft} change={change} />
        </>
      )}
    </>
  );
}

/** The password is not controlled by React, which would write it into the page. Another type or origin empties it. */
function Credentials({ draft, change }: FieldsProps) {
  const set = (field: keyof ServiceCredentials, value: string) =>
    change({ ...draft, credentials: { ...draft.credentials, [field]: value } });
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="mb-2 text-sm font-medium">{words.credentials}</legend>
      <p className="text-sm">{words.credentialsHint}</p>
      {credentialFields[draft.type].map((field) =>
        isSecret(field) ? (
          <Field
            key={field}
            label={serviceText.credentials.fields[field]}
            name="secret"
            type="password"
            autoComplete="off"
            onChange={(event) => change({ ...draft, hasSecret: event.target.value !== '' })}
          />
        ) : (
          <Field
            key={field}
            label={serviceText.credentials.fields[field]}
            value={draft.credentials[field] ?? ''}
            onChange={(event) => set(field, event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        ),
      )}
    </fieldset>
  );
}
