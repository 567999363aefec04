import { jobView, type JobView } from '../../runtime/contracts/api/jobs.ts';
import { defineKind } from '../kind.ts';
import { ageColumn, ago } from '../output.ts';
import { messageColumn, mountsText } from '../workload-columns.ts';

export const jobKind = defineKind<JobView>({
  name: 'job',
  level: 'environment',
  collection: 'jobs',
  schema: jobView,
  id: ({ name }) => name,
  examples: ['report', 'migrate'],
  columns: (items, { now }) => [
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'SCHEDULE', value: ({ schedule }) => schedule },
    { title: 'DESCRIPTION', value: ({ scheduleDescription }) => scheduleDescription },
    { title: 'LAST RUN', value: ({ lastRun }) => lastRun && `${lastRun.status}, ${ago(lastRun.createdAt, now)}` },
    { title: 'IMAGE', value: ({ image }) => image },
    ageColumn(now),
    ...messageColumn(items, now),
  ],
  details: (view) => [
    ['Job', view.name],
    ['Project', view.project],
    ['Environment', view.environment],
    ['Status', view.status],
    ['Message', view.message],
    ['Out of memory', view.outOfMemory?.message],
    ['Image', view.image],
    ['Command', view.command?.join(' ')],
    ['Schedule', view.schedule && `${view.schedule} (${view.timeZone})`],
    ['Description', view.scheduleDescription],
    ['Next run', view.nextRunAt],
    ['Last run', view.lastRun && `${view.lastRun.name} ${view.lastRun.status}`],
    ['Last message', view.lastRun?.message],
    ['Memory', view.memory],
    ['CPU', view.cpu],
    ['Variables', Object.keys(view.env).join(', ') || undefined],
    ['Bindings', view.bindings?.map(({ service, status }) => `${service} (${status})`).join(', ')],
    ['Volumes', mountsText(view.volumes)],
  ],
  help: { delete: 'Delete jobs with their runs and logs. Current runs are stopped.' },
});
