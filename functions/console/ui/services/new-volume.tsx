import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { VolumeView } from '../../../../runtime/contracts/api/volumes.ts';
import { useChange } from '../api/change.ts';
import { CreationPage } from '../environment/creation-page.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { createText } from '../text/create.ts';

const words = createText.volume;
const accessModes = (['ReadWriteOnce', 'ReadWriteMany'] as const satisfies readonly VolumeView['accessMode'][]).map(
  (value) => ({ value, label: `${value}: ${words.accessModes[value]}` }),
);

/** The form of a new volume. */
export function NewVolume() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const navigate = useNavigate();
  const [draft, setDraft] = useState({ name: '', size: '', storageClass: '', accessMode: 'ReadWriteOnce' });
  const { name, size, storageClass, accessMode } = draft;
  const create = useChange<VolumeView>(place, (view) => {
    const params = { ...place, volume: view.name };
    void navigate({ to: '/projects/$project/environments/$environment/volumes/$volume', params });
  });
  const input = (field: 'name' | 'size' | 'storageClass', more: React.ComponentProps<'input'>) => (
    <Field
      label={words.fields[field]}
      value={draft[field]}
      onChange={(event) => setDraft({ ...draft, [field]: event.target.value })}
      autoComplete="off"
      spellCheck={false}
      {...more}
    />
  );
  const command = [
    ...['volume', 'create', name.trim() || 'data', '--size', size.trim() || '10Gi'],
    ...(storageClass === '' ? [] : ['--class', storageClass]),
    ...(accessMode === 'ReadWriteOnce' ? [] : ['--access', accessMode]),
  ];
  return (
    <CreationPage
      place={place}
      words={words}
      submit={() => {
        const body = { name, size, accessMode, ...(storageClass !== '' && { storageClass }) };
        create.mutate({ path: ['volumes'], method: 'POST', body });
      }}
      disabled={create.isPending}
      error={create.error}
      command={command}
    >
      <p className="text-sm">{words.hint}</p>
      {input('name', { required: true, maxLength: 63 })}
      {input('size', { required: true, maxLength: 22 })}
      {input('storageClass', { maxLength: 253 })}
      <Select
        label={words.fields.accessMode}
        value={accessMode}
        options={accessModes}
        onChange={(event) => setDraft({ ...draft, accessMode: event.target.value })}
      />
    </CreationPage>
  );
}
