import { useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { appQuery, type Place } from '../api/queries.ts';
import { Area } from '../parts/area.tsx';
import { Button } from '../parts/button.tsx';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.tsx';
import { Select } from '../parts/choice.tsx';
import { Command } from '../parts/command.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import {
  changeBody,
  changedSettings,
  changeWords,
  settingGroups,
  settingTexts,
  type SettingGroup,
  type SettingName,
} from './settings-draft.ts';

const words = appSettingsText.settings;

interface FormProps {
  place: Place;
  app: AppView;
  group: SettingGroup;
  mayChange: boolean;
}

/** The form of a group of an app's settings. What another person changes meanwhile is shown, and what was written is kept. */
export function SettingsForm({ place, app, group, mayChange }: FormProps) {
  const id = useId();
  const seen = settingTexts(app);
  const [before, setBefore] = useState(seen);
  const [draft, setDraft] = useState(before);
  const changed = changedSettings(group, before, draft);
  const others = changedSettings(group, before, seen);
  // A form in which nothing is written follows the app.
  if (changed.length === 0 && others.length > 0) {
    setBefore(seen);
    setDraft(seen);
  }
  const client = useQueryClient();
  const save = useChange<AppView>(place, (saved) => {
    // At once, so that the form does not follow the older app of the page.
    client.setQueryData(appQuery(place, app.name).queryKey, saved);
    setBefore(settingTexts(saved));
    setDraft(settingTexts(saved));
  });
  return (
    <section aria-labelledby={id} className="flex flex-col gap-4">
      <h2 id={id} className="text-lg font-semibold">
        {words.groups[group].title}
      </h2>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate({ path: ['apps', app.name], method: 'PATCH', body: changeBody(group, before, draft, seen) });
        }}
      >
        <fieldset disabled={!mayChange} className="grid grid-cols-1 items-end gap-4 sm:grid-cols-2">
          {settingGroups[group].map((name) => (
            <Setting
              key={name}
              name={name}
              value={draft[name]}
              change={(value) => {
                save.reset();
                setDraft({ ...draft, [name]: value });
              }}
            />
          ))}
        </fieldset>
        <p className="text-sm">{words.groups[group].what}</p>
        {changed.length > 0 && (
          <ChangedMeanwhile
            differences={others.map((name) => ({ title: words.fields[name], before: before[name], after: seen[name] }))}
          />
        )}
        {save.error && <ErrorNote error={save.error} />}
        {save.isSuccess && changed.length === 0 && <Note look="good">{words.saved}</Note>}
        {mayChange && (
          <div>
            <Button type="submit" look="primary" disabled={save.isPending || changed.length === 0}>
              {words.save(changed.length)}
            </Button>
          </div>
        )}
        <Command command={commandOf(...changeWords(app.name, group, before, draft), ...placeFlags(place))} />
      </form>
    </section>
  );
}

const switches = ['on', 'off'].map((value) => ({ value }));

function Setting({ name, value, change }: { name: SettingName; value: string; change: (value: string) => void }) {
  const label = words.fields[name];
  if (name === 'autoRollback' || name === 'headers') {
    return <Select label={label} options={switches} value={value} onChange={(event) => change(event.target.value)} />;
  }
  if (name === 'volumes' || name === 'csp' || name === 'releaseCommand') {
    return <Area label={label} rows={2} value={value} onChange={(event) => change(event.target.value)} />;
  }
  const numbers = { port: { min: 1, max: 65_535 }, replicas: { min: 0, max: 50 } };
  return (
    <Field
      label={label}
      value={value}
      onChange={(event) => change(event.target.value)}
      autoComplete="off"
      spellCheck={false}
      {...((name === 'port' || name === 'replicas') && { type: 'number', required: true, ...numbers[name] })}
    />
  );
}
