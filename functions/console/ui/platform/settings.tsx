import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { PlatformConfigView } from '../../../../runtime/contracts/api/platform.ts';
import { platformProfiles } from '../../../../runtime/domain/platform-profile.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Area } from '../parts/area.tsx';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Command } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';
import { platformText } from '../text/platform.ts';
import { configQuery } from './queries.ts';
import { Section } from './section.tsx';
import {
  changedMeanwhile,
  settingGroups,
  settingsChange,
  settingText,
  type Setting,
  type SettingGroup,
} from './settings-change.ts';

const words = platformText.settings;

/** The settings of the installation, in groups that are edited together. */
export function Settings() {
  const [edited, setEdited] = useState<SettingGroup>();
  return (
    <Loaded query={useQuery(configQuery)}>
      {(config) => {
        const groups = (Object.keys(settingGroups) as SettingGroup[]).filter(
          (group) => group !== 'builds' || config.builds !== undefined,
        );
        return (
          <div className="flex flex-col gap-8">
            <Installation config={config} />
            {groups.map((group) => (
              <Section key={group} title={words.groups[group]}>
                <Facts facts={settingGroups[group].map((setting) => [nameOf(setting), shown(config, setting)])} />
                <div>
                  <Button aria-label={words.editName(words.groups[group])} onClick={() => setEdited(group)}>
                    {words.edit}
                  </Button>
                </div>
              </Section>
            ))}
            {edited && <EditDialog key={edited} group={edited} current={config} close={() => setEdited(undefined)} />}
          </div>
        );
      }}
    </Loaded>
  );
}

const nameOf = ({ path }: Setting): string => (words.names as Readonly<Record<string, string>>)[path] ?? path;
const shown = (config: PlatformConfigView, setting: Setting) =>
  settingText(config, setting).replaceAll('\n', ', ') || text.none;

/** What `svc install` decides, and whether the last change is active. */
function Installation({ config }: { config: PlatformConfigView }) {
  const { status, message, scheme, publicPort, ingressAddress, runtimeImages, builds } = config;
  return (
    <div className="flex flex-col gap-4">
      {status === 'pending' && <Note look="warn">{words.pending}</Note>}
      {status === 'refused' && <Note look="bad">{words.refused(message ?? '')}</Note>}
      <Facts
        facts={[
          [words.appsDomain, config.appsDomain],
          [words.cluster, config.cluster],
          [words.scheme, publicPort === undefined ? scheme : words.withPort(scheme, publicPort)],
          [words.ingress, ingressAddress],
          [words.node, runtimeImages?.node],
          [words.python, runtimeImages?.python],
          [words.builder, builds?.image],
          [words.registry, builds?.registry],
        ]}
      />
      <Command command={commandOf('platform', 'config', 'show')} />
    </div>
  );
}

interface EditProps {
  group: SettingGroup;
  current: PlatformConfigView;
  close: () => void;
}

function EditDialog({ group, current, close }: EditProps) {
  const settings: readonly Setting[] = settingGroups[group];
  // What the form showed first: the settings can be read again while it is open.
  const [before] = useState(() =>
    Object.fromEntries(settings.map((setting) => [setting.path, settingText(current, setting)])),
  );
  const [after, setAfter] = useState(before);
  const save = usePlatformChange<PlatformConfigView>('platform', close);
  // What the user has seen last: after a conflict also what others set meanwhile, which the next attempt replaces.
  const [seen, setSeen] = useState(current);
  const client = useQueryClient();
  const { body, flags } = settingsChange(settings, before, after, seen);
  const submit = () => {
    const onError = () => setSeen((last) => client.getQueryData(configQuery.queryKey) ?? last);
    save.mutate({ path: ['platform', 'config'], method: 'PATCH', body }, { onError });
  };
  const others = changedMeanwhile(settings, before, seen);
  return (
    <FormDialog
      title={words.groups[group]}
      close={close}
      action={words.save}
      disabled={flags.length === 0}
      command={commandOf('platform', 'config', ...(flags.length === 0 ? ['show'] : ['set', ...flags]))}
      request={save}
      submit={submit}
    >
      {others.length > 0 && (
        <Note look="warn">
          <p>{words.changedMeanwhile}</p>
          <Facts facts={others.map((setting) => [nameOf(setting), shown(seen, setting)])} />
        </Note>
      )}
      <p>{group === 'serviceImages' ? words.emptyImage : words.emptyDefault}</p>
      {settings.map((setting) => (
        <Input
          key={setting.path}
          setting={setting}
          value={after[setting.path] ?? ''}
          change={(value) => setAfter({ ...after, [setting.path]: value })}
        />
      ))}
    </FormDialog>
  );
}

interface InputProps {
  setting: Setting;
  value: string;
  change: (value: string) => void;
}

function Input({ setting, value, change }: InputProps) {
  const label = nameOf(setting);
  const { kind, path } = setting;
  if (kind === 'switch' || path === 'profile') {
    const options = kind === 'switch' ? ['on', 'off'] : platformProfiles;
    return (
      <Select
        label={label}
        options={options.map((option) => ({ value: option }))}
        value={value}
        onChange={(event) => change(event.target.value)}
      />
    );
  }
  if (kind === 'list' || kind === 'domains') {
    const hint = kind === 'domains' ? words.domainLines : words.lines;
    return <Area label={`${label}, ${hint}`} value={value} onChange={(event) => change(event.target.value)} />;
  }
  return (
    <Field
      label={label}
      {...(kind !== 'text' && { type: 'number', min: '0' })}
      value={value}
      onChange={(event) => change(event.target.value)}
      maxLength={1000}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
