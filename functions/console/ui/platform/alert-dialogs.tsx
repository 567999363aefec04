import { useState } from 'react';
import type { SilenceView } from '../../../../runtime/contracts/api/alerts.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { platformText } from '../text/platform.ts';
import { labelLines, labelsIn } from './labels.ts';

const words = platformText.alerts;

/** What a silence is about; the alert is empty for one that the user names. */
export interface Silenced {
  alert: string;
  labels: Readonly<Record<string, string>>;
}

const durations = [
  { value: '3600', label: words.durations.hour, flag: '1h' },
  { value: '14400', label: words.durations.hours, flag: '4h' },
  { value: '86400', label: words.durations.day, flag: '1d' },
  { value: '604800', label: words.durations.week, flag: '7d' },
  { value: '2592000', label: words.durations.month, flag: '30d' },
] as const;

/** Silences an alert for a time. */
export function SilenceDialog({ silenced, close }: { silenced: Silenced; close: () => void }) {
  const [alert, setAlert] = useState(silenced.alert);
  const [lines, setLines] = useState(labelLines(silenced.labels).join('\n'));
  const [seconds, setSeconds] = useState('3600');
  const [comment, setComment] = useState('');
  const create = usePlatformChange<SilenceView>('platform', close);
  const labels = labelsIn(lines);
  const flag = durations.find(({ value }) => value === seconds)?.flag;
  const labelFlags = labelLines(labels).flatMap((line) => ['--label', line]);
  return (
    <FormDialog
      title={words.silenceAny}
      close={close}
      action={words.silence}
      command={commandOf(
        ...['platform', 'alerts', 'silence', alert || 'SvcQueueOld', '--for', flag],
        ...labelFlags,
        ...(comment === '' ? [] : ['--comment', comment]),
      )}
      request={create}
      submit={() =>
        create.mutate({
          path: ['platform', 'alerts', 'silences'],
          method: 'POST',
          body: { alert, ...(Object.keys(labels).length > 0 && { labels }), durationSeconds: Number(seconds), comment },
        })
      }
    >
      <Field
        label={words.fields.alert}
        value={alert}
        onChange={(event) => setAlert(event.target.value)}
        required
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
      />
      <Area label={words.fields.labels} value={lines} onChange={(event) => setLines(event.target.value)} />
      <Select
        label={words.fields.duration}
        options={durations}
        value={seconds}
        onChange={(event) => setSeconds(event.target.value)}
      />
      <Field
        label={words.fields.comment}
        value={comment}
        onChange={(event) => setComment(event.target.value)}
        required
        maxLength={500}
        autoComplete="off"
      />
      <p>{words.silenceWhat}</p>
    </FormDialog>
  );
}

/** Ends a silence before its time. */
export function EndSilenceDialog({ silence: { id, alert }, close }: { silence: SilenceView; close: () => void }) {
  const end = usePlatformChange<unknown>('platform', close);
  return (
    <FormDialog
      title={words.endTitle(alert)}
      close={close}
      action={words.end}
      command={commandOf('platform', 'alerts', 'unsilence', id)}
      request={end}
      submit={() => end.mutate({ path: ['platform', 'alerts', 'silences', id], method: 'DELETE' })}
    >
      <p>{words.endWhat}</p>
    </FormDialog>
  );
}
