import { useState } from 'react';
import type { AssistantSettingsView } from '../../../../runtime/contracts/api/assistant.ts';
import { assistantLevels, type AssistantLevel } from '../../../../runtime/domain/assistant.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Note } from '../parts/note.tsx';
import { assistantSettingsText } from '../text/assistant-settings.ts';
import { dropsKey, providerBody, providerDraft, providerFlags, type ProviderDraft } from './assistant-draft.ts';

const words = assistantSettingsText;
const path = ['platform', 'assistant'];
const levels = assistantLevels.map((value) => ({ value, label: words.levels.names[value] }));

/** Sets the provider, or changes its settings. */
export function ProviderDialog({ settings, close }: { settings: AssistantSettingsView | null; close: () => void }) {
  // What the form showed first: the settings can be read again while it is open.
  const [before] = useState(settings);
  const [draft, setDraft] = useState(() => providerDraft(settings));
  const save = usePlatformChange<AssistantSettingsView>('platform', close);
  const set = (change: Partial<ProviderDraft>) => setDraft({ ...draft, ...change });
  const flags = providerFlags(before, draft);
  const field = (name: 'url' | 'model' | 'messagesPerHour' | 'tokensPerDay', max?: number) => (
    <Field
      label={words.form[name]}
      value={draft[name]}
      onChange={(event) => set({ [name]: event.target.value })}
      {...(max === undefined ? { maxLength: 2000 } : { type: 'number', min: 1, max })}
      required
      autoComplete="off"
      spellCheck={false}
    />
  );
  // The key is read from the standard input, so that no history of commands has it.
  const fromFile = flags.includes('--key-stdin') ? ' < key' : '';
  return (
    <FormDialog
      title={words.title}
      close={close}
      action={words.save}
      disabled={flags.length === 0}
      command={`${commandOf(...path, ...(flags.length === 0 ? ['show'] : ['set', ...flags]))}${fromFile}`}
      request={save}
      submit={() => save.mutate({ path, method: 'PUT', body: providerBody(draft) })}
    >
      {field('url')}
      {field('model')}
      <Field
        label={before?.key ? words.form.keyKept : words.form.key}
        type="password"
        value={draft.key}
        onChange={(event) => set({ key: event.target.value })}
        maxLength={4096}
        // The browser must not offer the password of the user.
        autoComplete="new-password"
        disabled={draft.withoutKey}
      />
      {before?.key && (
        <label className="flex gap-2">
          <input
            type="checkbox"
            checked={draft.withoutKey}
            onChange={(event) => set({ withoutKey: event.target.checked })}
          />
          {words.form.withoutKey}
        </label>
      )}
      <Select
        label={words.form.level}
        options={levels}
        value={draft.level}
        onChange={(event) => set({ level: event.target.value as AssistantLevel })}
      />
      <Area
        label={words.form.networks}
        value={draft.networks}
        rows={2}
        onChange={(event) => set({ networks: event.target.value })}
      />
      {field('messagesPerHour', 10_000)}
      {field('tokensPerDay', 10_000_000_000)}
      {dropsKey(before, draft) && <Note look="warn">{words.form.keyDropped}</Note>}
      {draft.url.trim().startsWith('http:') && <Note look="warn">{words.form.plainText}</Note>}
    </FormDialog>
  );
}

/** Forgets the provider. */
export function DisableAssistantDialog({ close }: { close: () => void }) {
  const disable = usePlatformChange<unknown>('platform', close);
  return (
    <FormDialog
      title={words.disable.title}
      close={close}
      action={words.disable.button}
      look="danger"
      command={commandOf(...path, 'disable')}
      request={disable}
      submit={() => disable.mutate({ path, method: 'DELETE' })}
    >
      <p>{words.disable.what}</p>
    </FormDialog>
  );
}
