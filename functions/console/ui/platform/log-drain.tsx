import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { z } from 'zod';
import type { logDrainTest, LogDrainView } from '../../../../runtime/contracts/api/log-drain.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { Time } from '../parts/time.tsx';
import { logDrainText as words } from '../text/log-drain.ts';
import { LogDrainDialog, RemoveLogDrainDialog } from './log-drain-dialogs.tsx';
import { logDrainQuery } from './queries.ts';
import { Section } from './section.tsx';

const path = ['platform', 'log-drain'];
const setCommand = commandOf(
  ...path,
  ...['set', '--format', 'loki', '--url', 'https://loki.example.com/loki/api/v1/push', '--token-stdin'],
);

/** The address to which every log line is also sent. */
export function LogDrain() {
  const [dialog, setDialog] = useState<'set' | 'remove'>();
  const drain = useQuery(logDrainQuery);
  const close = () => setDialog(undefined);
  return (
    <Section title={words.title}>
      <p className="text-sm">{words.what}</p>
      <Loaded query={drain}>
        {(current) =>
          current ? (
            <Drain drain={current} open={setDialog} />
          ) : (
            <>
              <Empty title={words.none} hint={words.noneHint} command={`${setCommand} < token`} />
              <div>
                <Button look="primary" onClick={() => setDialog('set')}>
                  {words.set}
                </Button>
              </div>
            </>
          )
        }
      </Loaded>
      {dialog === 'set' && <LogDrainDialog drain={drain.data ?? null} close={close} />}
      {dialog === 'remove' && <RemoveLogDrainDialog close={close} />}
    </Section>
  );
}

function Drain({ drain, open }: { drain: LogDrainView; open: (dialog: 'set' | 'remove') => void }) {
  const { url, format, headers, networks, status, error, failingSince, refusedLines, deletedLines, lastSentAt } = drain;
  const test = usePlatformChange<z.infer<typeof logDrainTest>>('platform');
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => open('set')}>{words.edit}</Button>
        <Button
          disabled={test.isPending || drain.test?.status === 'pending'}
          onClick={() => test.mutate({ path: [...path, 'test'], method: 'POST' })}
        >
          {words.test.button}
        </Button>
        <Button onClick={() => open('remove')}>{words.remove.button}</Button>
      </div>
      {test.error && <ErrorNote error={test.error} />}
      {drain.test && <TestResult test={drain.test} />}
      <Facts
        facts={[
          [
            words.facts.url,
            <span key="url" className="wrap-anywhere">
              {url}
            </span>,
          ],
          [words.facts.format, words.formats[format]],
          [words.facts.headers, headers.join(', ')],
          [words.facts.networks, networks.join(', ') || words.onInternet],
          [words.facts.status, <State key="status" state={status} />],
          [words.facts.failing, failingSince !== undefined && <Time key="failing" at={failingSince} />],
          [words.facts.error, error],
          [words.facts.sent, words.lines(drain.sentLines)],
          [words.facts.pending, words.lines(drain.pendingLines)],
          [words.facts.refused, refusedLines > 0 && words.lines(refusedLines)],
          [words.facts.deleted, deletedLines > 0 && words.lines(deletedLines)],
          [words.facts.last, lastSentAt !== undefined && <Time key="last" at={lastSentAt} />],
          [words.facts.changed, <Time key="changed" at={drain.updatedAt} />],
        ]}
      />
      <Command command={commandOf(...path, 'show')} />
      <Command command={commandOf(...path, 'test')} />
    </>
  );
}

/** What became of the last test line. */
function TestResult({ test: { status, error, at } }: { test: z.infer<typeof logDrainTest> }) {
  if (status === 'pending') return <Note look="warn">{words.test.pending}</Note>;
  const isDelivered = status === 'delivered';
  return (
    <Note look={isDelivered ? 'good' : 'bad'}>
      {isDelivered ? words.test.delivered : words.test.failed(error ?? words.test.unknown)} <Time at={at} />
    </Note>
  );
}
