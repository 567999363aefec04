import { useState } from 'react';
import type { LogDrainView } from '../../../../runtime/contracts/api/log-drain.ts';
import { logDrainFormats, type LogDrainFormat } from '../../../../runtime/domain/log-drain.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Note } from '../parts/note.tsx';
import { logDrainText as words } from '../text/log-drain.ts';
import { droppedHeaders, headersIn, logDrainBody, logDrainDraft, logDrainWords } from './log-drain-draft.ts';

const path = ['platform', 'log-drain'];
const formats = logDrainFormats.map((value) => ({ value, label: words.formats[value] }));

/** Sets the log drain, or changes it: all of its settings are replaced. */
export function LogDrainDialog({ drain, close }: { drain: LogDrainView | null; close: () => void }) {
  // What the form showed first: the drain is read again while it is open.
  const [before] = useState(drain);
  const [draft, setDraft] = useState(() => logDrainDraft(drain));
  const save = usePlatformChange<LogDrainView>('platform', close);
  const { badLines } = headersIn(draft.headers);
  const dropped = droppedHeaders(before, draft);
  const { words: commandWords, input } = logDrainWords(draft);
  return (
    <FormDialog
      title={words.title}
      close={close}
      action={words.save}
      disabled={badLines.length > 0}
      command={`${commandOf(...commandWords)}${input}`}
      request={save}
      submit={() => save.mutate({ path, method: 'PUT', body: logDrainBody(draft) })}
    >
      <Field
        label={words.fields.url}
        value={draft.url}
        onChange={({ target }) => setDraft({ ...draft, url: target.value })}
        required
        maxLength={2000}
        autoComplete="off"
        spellCheck={false}
      />
      <Select
        label={words.fields.format}
        options={formats}
        value={draft.format}
        onChange={({ target }) => setDraft({ ...draft, format: target.value as LogDrainFormat })}
      />
      <Area
        label={words.fields.headers}
        value={draft.headers}
        rows={2}
        onChange={({ target }) => setDraft({ ...draft, headers: target.value })}
      />
      <p>{words.headersKept}</p>
      {badLines.length > 0 && <Note look="bad">{words.badHeaders(badLines.join(', '))}</Note>}
      {dropped.length > 0 && <Note look="warn">{words.headersDropped(dropped.join(', '))}</Note>}
      <Area
        label={words.fields.networks}
        value={draft.networks}
        rows={2}
        onChange={({ target }) => setDraft({ ...draft, networks: target.value })}
      />
      {draft.url.trim().startsWith('http:') && <Note look="warn">{words.plainText}</Note>}
    </FormDialog>
  );
}

/** Removes the log drain. */
export function RemoveLogDrainDialog({ close }: { close: () => void }) {
  const remove = usePlatformChange<unknown>('platform', close);
  return (
    <FormDialog
      title={words.remove.title}
      close={close}
      action={words.remove.button}
      look="danger"
      command={commandOf(...path, 'remove')}
      request={remove}
      submit={() => remove.mutate({ path, method: 'DELETE' })}
    >
      <p>{words.remove.what}</p>
    </FormDialog>
  );
}
