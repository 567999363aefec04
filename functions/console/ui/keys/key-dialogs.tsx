import { useState } from 'react';
import type { Change } from '../../../../runtime/contracts/api/gate.ts';
import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.tsx';
import { Select } from '../parts/choice.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { keyText } from '../text/keys.ts';
import { changeBody, changedFields, changeWords, keyDraftOf } from './key-draft.ts';
import { keyDraftIn, KeyFields } from './key-fields.tsx';
import type { NewKey } from './new-key.tsx';

const words = keyText.key;

interface DialogProps<Result> {
  place: Place;
  current: KeyView;
  close: () => void;
  done: (result: Result) => void;
}

/** Changes the settings of a key. */
export function ChangeDialog({ place, current, close, done }: DialogProps<{ change?: Change }>) {
  // What the form showed first: the key can be read again while it is open.
  const [before] = useState(current);
  const [first, seen] = [keyDraftOf(before), keyDraftOf(current)];
  const update = useChange<{ change?: Change }>(place, (result) => {
    close();
    done(result);
  });
  return (
    <FormDialog
      title={words.changeTitle}
      close={close}
      action={words.save}
      command={commandOf('key', 'show', before.handle, ...placeFlags(place))}
      commandFor={(form) => commandOf(...changeWords(before.handle, first, keyDraftIn(form)), ...placeFlags(place))}
      request={update}
      submit={(form) => {
        const body = changeBody(first, keyDraftIn(form), current);
        update.mutate({ path: ['api-keys', before.handle], method: 'PATCH', body });
      }}
    >
      <KeyFields place={place} current={before} />
      <ChangedMeanwhile
        differences={changedFields(first, seen).map((field) => ({
          title: keyText.keys.fields[field],
          before: first[field],
          after: seen[field],
        }))}
      />
    </FormDialog>
  );
}

const graces = [
  { value: '0', label: words.graces.none, flag: '0' },
  { value: '3600', label: words.graces.hour, flag: '1h' },
  { value: '86400', label: words.graces.day, flag: '1d' },
  { value: '604800', label: words.graces.week, flag: '7d' },
  { value: '2592000', label: words.graces.month, flag: '30d' },
] as const;

/** Replaces a key by a new one. */
export function RotateDialog({ place, current: { handle }, close, done }: DialogProps<NewKey>) {
  const [grace, setGrace] = useState('86400');
  const rotate = useChange<NewKey>(place, (created) => {
    close();
    done(created);
  });
  const flag = graces.find(({ value }) => value === grace)?.flag;
  return (
    <FormDialog
      title={words.rotateTitle}
      close={close}
      action={words.rotate}
      command={commandOf('key', 'rotate', handle, '--grace', flag, ...placeFlags(place))}
      request={rotate}
      submit={() =>
        rotate.mutate({ path: ['api-keys', handle, 'rotate'], method: 'POST', body: { graceSeconds: Number(grace) } })
      }
    >
      <p>{words.rotateWhat}</p>
      <Select
        label={keyText.keys.fields.grace}
        options={graces}
        value={grace}
        onChange={(event) => setGrace(event.target.value)}
      />
    </FormDialog>
  );
}

/** Deletes a key. */
export function RevokeDialog({ place, current: { handle }, close, done }: DialogProps<undefined>) {
  const revoke = useChange<unknown>(place, () => {
    close();
    done(undefined);
  });
  return (
    <FormDialog
      title={words.revokeTitle}
      close={close}
      action={words.revoke}
      look="danger"
      command={commandOf('key', 'revoke', handle, ...placeFlags(place))}
      request={revoke}
      submit={() => revoke.mutate({ path: ['api-keys', handle], method: 'DELETE' })}
    >
      <p>{words.revokeWhat}</p>
    </FormDialog>
  );
}
