import {
  alertList,
  alertView,
  silenceList,
  silenceSecondsMax,
  silenceView,
  type AlertView,
  type SilenceView,
} from '../../runtime/contracts/api/alerts.ts';
import { paintFor, type Tone } from '../colour.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { duration, text, texts } from '../flags.ts';
import { readVariable } from '../key-values.ts';
import { ago, table, type Column } from '../output.ts';

const path = '/platform/alerts';
const defaultSeconds = 3600;

const labelsText = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
const toneOf = ({ state, severity }: AlertView): Tone | undefined =>
  state === 'silenced' ? undefined : severity === 'critical' ? 'danger' : 'warning';

const alertColumns = (now: Date): Column<AlertView>[] => [
  { title: 'ALERT', value: ({ name }) => name },
  { title: 'SEVERITY', value: ({ severity }) => severity, tone: toneOf },
  { title: 'ABOUT', value: ({ scope }) => scope },
  { title: 'STATE', value: ({ state }) => state },
  { title: 'SINCE', value: ({ startsAt }) => ago(startsAt, now) },
  { title: 'SUMMARY', value: ({ summary }) => summary },
  { title: 'DETAILS', value: ({ details }) => labelsText(details) || undefined },
];

const silenceColumns: readonly Column<SilenceView>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'ALERT', value: ({ alert }) => alert },
  { title: 'LABELS', value: ({ labels }) => labelsText(labels) || 'all' },
  { title: 'ENDS', value: ({ endsAt }) => endsAt },
  { title: 'BY', value: ({ createdBy }) => createdBy },
  { title: 'COMMENT', value: ({ comment }) => comment },
];

const list = command({
  name: 'list',
  description: 'List the firing alerts, those about the platform first.',
  flags: apiFlags,
  data: alertView,
  watch: true,
  examples: ['svc platform alerts list', 'svc platform alerts list -o json'],
  async run({ context, flags }) {
    const { items, truncated } = await context.api(flags).call('GET', path, alertList);
    const output = table(items, alertColumns(context.clock.now()), paintFor(context));
    context.print({ data: items, table: output, names: items.map(({ name }) => name) }, flags.output);
    if (items.length === 0) context.say('no alerts are firing');
    if (truncated) context.say('more alerts are firing than are listed');
  },
});

const silences = command({
  name: 'silences',
  description: 'List the silences that have not ended.',
  flags: apiFlags,
  data: silenceView,
  examples: ['svc platform alerts silences'],
  async run({ context, flags }) {
    const { items } = await context.api(flags).call('GET', `${path}/silences`, silenceList);
    context.print({ data: items, table: table(items, silenceColumns), names: items.map(({ id }) => id) }, flags.output);
  },
});

const silence = command({
  name: 'silence',
  args: ['alert'],
  description: 'Silence an alert for a time. It is still listed, but not sent to notifications.',
  flags: {
    label: texts('<name=value>', 'only alerts with this label, such as controller=App'),
    for: duration('<duration>', 'duration of the silence (default 1h)', { min: 60, max: silenceSecondsMax }),
    comment: text('<text>', 'reason, shown to other admins'),
    ...apiFlags,
  },
  data: silenceView,
  examples: [
    'svc platform alerts silence SvcDiskFull --for 4h --comment "new disk arrives today"',
    'svc platform alerts silence SvcReconcileFailing --label controller=App',
  ],
  async run({ context, args, flags }) {
    const labels = Object.fromEntries(flags.label.map((typed) => readVariable(typed, '--label')));
    const body = {
      alert: args.alert,
      ...(flags.label.length > 0 && { labels }),
      durationSeconds: flags.for ?? defaultSeconds,
      comment: flags.comment ?? 'no comment',
    };
    const api = context.api(flags);
    const { items } = await api.call('GET', path, alertList);
    const view = await api.call('POST', `${path}/silences`, silenceView, { body });
    context.print({ data: view, table: table([view], silenceColumns), names: [view.id] }, flags.output);
    if (!items.some(({ name }) => name === args.alert)) context.say(`no alert "${args.alert}" is firing now`);
  },
});

const unsilence = command({
  name: 'unsilence',
  args: ['alert'],
  description: 'End the silences of an alert, or one silence by its ID.',
  flags: apiFlags,
  examples: ['svc platform alerts unsilence SvcDiskFull'],
  async run({ context, args, flags }) {
    const api = context.api(flags);
    const { items } = await api.call('GET', `${path}/silences`, silenceList);
    const matching = items.filter(({ id, alert }) => id === args.alert || alert === args.alert);
    if (matching.length === 0) {
      throw new Failure(`No silence of "${args.alert}" is active.`, {
        code: 'not_found',
        hint: 'list them: svc platform alerts silences',
      });
    }
    for (const { id, alert } of matching) {
      await api.send('DELETE', `${path}/silences/${id}`);
      context.say(`the silence ${id} of ${alert} has ended`);
    }
  },
});

export const alertCommands: Commands = { commands: [list, silences, silence, unsilence] };
