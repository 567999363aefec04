import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { z } from 'zod';
import type { AssistantSettingsView, assistantTest } from '../../../../runtime/contracts/api/assistant.ts';
import { assistantLevels, type AssistantLevel } from '../../../../runtime/domain/assistant.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { assistantSettingsText } from '../text/assistant-settings.ts';
import { text } from '../text/common.ts';
import { DisableAssistantDialog, ProviderDialog } from './assistant-dialogs.tsx';
import { providerQuery } from './queries.ts';
import { Section } from './section.tsx';

const words = assistantSettingsText;
const setCommand = commandOf(
  ...['platform', 'assistant', 'set', '--url', 'https://api.openai.com/v1', '--model', 'gpt-5-mini', '--key-stdin'],
);

/** The AI provider of the assistant, and what is sent to it. */
export function AssistantSettings() {
  const [dialog, setDialog] = useState<'provider' | 'disable'>();
  const provider = useQuery(providerQuery);
  const close = () => setDialog(undefined);
  return (
    <div className="flex flex-col gap-8">
      <Section title={words.title}>
        <Loaded query={provider}>
          {(settings) =>
            settings ? (
              <Provider settings={settings} open={setDialog} />
            ) : (
              <>
                <Empty title={words.none} hint={words.noneHint} command={`${setCommand} < key`} />
                <div>
                  <Button look="primary" onClick={() => setDialog('provider')}>
                    {words.set}
                  </Button>
                </div>
              </>
            )
          }
        </Loaded>
      </Section>
      <Section title={words.levels.title}>
        <Levels active={provider.data?.level} />
      </Section>
      {dialog === 'provider' && <ProviderDialog settings={provider.data ?? null} close={close} />}
      {dialog === 'disable' && <DisableAssistantDialog close={close} />}
    </div>
  );
}

interface ProviderProps {
  settings: AssistantSettingsView;
  open: (dialog: 'provider' | 'disable') => void;
}

function Provider({ settings, open }: ProviderProps) {
  const { url, model, key, level, networks, messagesPerHour, tokensPerDay, tokensToday, updatedAt } = settings;
  const test = usePlatformChange<z.infer<typeof assistantTest>>('platform');
  // What was tested before a change says nothing of the settings after it.
  const [tested, setTested] = useState(updatedAt);
  const result = tested === updatedAt ? test.data : undefined;
  return (
    <>
      <Facts
        facts={[
          [words.facts.url, url],
          [words.facts.model, model],
          [words.facts.key, key ? words.keySet : words.keyMissing],
          [words.facts.level, words.levels.names[level]],
          [words.facts.networks, networks.join(', ') || words.onInternet],
          [words.facts.messages, words.messages(messagesPerHour)],
          [words.facts.tokens, words.tokens(tokensToday, tokensPerDay)],
          [words.facts.changed, <Time key="changed" at={updatedAt} />],
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => open('provider')}>{words.edit}</Button>
        <Button
          disabled={test.isPending}
          onClick={() => {
            setTested(updatedAt);
            test.mutate({ path: ['platform', 'assistant', 'test'], method: 'POST' });
          }}
        >
          {test.isPending ? words.test.pending : words.test.button}
        </Button>
        <Button onClick={() => open('disable')}>{words.disable.button}</Button>
      </div>
      <p className="text-sm text-zinc-600 dark:text-zinc-400">{words.test.hint}</p>
      {test.error && <ErrorNote error={test.error} />}
      {result?.status === 'ok' && <Note look="good">{words.test.ok(result.model, result.milliseconds)}</Note>}
      {result?.status === 'failed' && (
        <Note look="bad">
          <p>{words.test.failed(result.error ?? '')}</p>
          {result.code !== undefined && (
            <p className="mt-1 text-xs">
              {text.errors.code} <code>{result.code}</code>
            </p>
          )}
        </Note>
      )}
      <Command command={commandOf('platform', 'assistant', 'show')} />
    </>
  );
}

/** What the provider gets at each level. */
function Levels({ active }: { active: AssistantLevel | undefined }) {
  return (
    <>
      <table className="w-full text-sm">
        <Cells heads={[{ title: words.levels.level }, { title: words.levels.gets }]} />
        <tbody>
          {assistantLevels.map((level, index) => (
            <tr key={level} className={rowLook}>
              <th scope="row" className={`${cellLook} text-left font-normal`}>
                {words.levels.names[level]} {level === active && <Badge tone="good">{words.levels.active}</Badge>}
              </th>
              <td className={cellLook}>
                {index > 0 && `${words.levels.also} `}
                {words.levels.sends[level].join('; ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="text-sm">{words.levels.masked}</p>
    </>
  );
}
