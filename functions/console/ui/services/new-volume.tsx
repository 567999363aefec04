import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { VolumeView } from '../../../../runtime/contracts/api/volumes.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Command } from '../parts/command.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { createText } from '../text/create.ts';

const words = createText.volume;
const accessModes = (['ReadWriteOnce', 'ReadWriteMany'] as const satisfies readonly VolumeView['accessMode'][]).map(
  (value) => ({ value, label: `${value}: ${words.accessModes[value]}` }),
);

/** The form of a new volume. */
export function NewVolume() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const navigate = useNavigate();
  const mayCreate = useMay(place.project, 'deployer');
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
  const command = commandOf(
    ...['volume', 'create', name.trim() || 'data', '--size', size.trim() || '10Gi'],
    ...(storageClass === '' ? [] : ['--class', storageClass]),
    ...(accessMode === 'ReadWriteOnce' ? [] : ['--access', accessMode]),
    ...placeFlags(place),
  );
  return (
    <>
      <Crumbs {...place} />
      <Heading title={words.title} />
      {mayCreate && (
        <form
          className="flex max-w-3xl flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            const body = { name, size, accessMode, ...(storageClass !== '' && { storageClass }) };
            create.mutate({ path: ['volumes'], method: 'POST', body });
          }}
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
          {create.error && <ErrorNote error={create.error} />}
          <div>
            <Button type="submit" look="primary" disabled={create.isPending}>
              {words.create}
            </Button>
          </div>
        </form>
      )}
      {!mayCreate && <p className="text-sm">{createText.mayNot}</p>}
      <div className="mt-4">
        <Command command={command} />
      </div>
    </>
  );
}
