import { useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { schedulePresets } from '../../../../runtime/domain/schedule-presets.ts';
import { request } from '../api/client.ts';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { functionText } from '../text/functions.ts';
import { Times } from '../workloads/schedule.tsx';

const words = functionText.form;

interface NextRuns {
  description: string;
  timeZone: string;
  nextRuns: string[];
}

interface ScheduleFieldProps {
  schedule: string;
  timeZone: string;
  set: (field: 'schedule' | 'timeZone', value: string) => void;
}

/** A cron expression, with common ones to choose from; the API says in words when it runs. */
export function ScheduleField({ schedule, timeZone, set }: ScheduleFieldProps) {
  const shown = useDeferredValue({ schedule, timeZone });
  const preview = useQuery({
    queryKey: ['schedule', shown.schedule, shown.timeZone],
    queryFn: ({ signal }) =>
      request<NextRuns>('/schedules/next', {
        query: { schedule: shown.schedule, timeZone: shown.timeZone === '' ? undefined : shown.timeZone },
        signal,
      }),
    // Not for each letter of an expression that has not five fields yet.
    enabled: shown.schedule.trim().split(/\s+/).length === 5,
  });
  const presets = schedulePresets.map((preset) => ({ value: preset.schedule, label: preset.description }));
  const isPreset = presets.some(({ value }) => value === schedule);
  return (
    <>
      <Select
        label={words.preset}
        value={isPreset ? schedule : ''}
        onChange={(event) => event.target.value !== '' && set('schedule', event.target.value)}
        options={[...presets, ...(isPreset ? [] : [{ value: '', label: words.ownSchedule }])]}
      />
      <Field
        label={words.fields.schedule}
        value={schedule}
        onChange={(event) => set('schedule', event.target.value)}
        required
        spellCheck={false}
      />
      <Field
        label={words.fields.timeZone}
        value={timeZone}
        onChange={(event) => set('timeZone', event.target.value)}
        placeholder="Etc/UTC"
        spellCheck={false}
      />
      {preview.error && <ErrorNote error={preview.error} />}
      {preview.data && (
        <div className="text-sm" role="status">
          <p className="mb-1">{preview.data.description}</p>
          <Times times={preview.data.nextRuns} timeZone={preview.data.timeZone} />
        </div>
      )}
    </>
  );
}
