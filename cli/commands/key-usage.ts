import { usageView } from '../../runtime/contracts/api/usage.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { text } from '../flags.ts';
import { table } from '../output.ts';
import { resolveScope } from '../scope.ts';

export const keyUsageCommand = command({
  name: 'usage',
  args: ['key'],
  description: 'Show the usage of an API key by UTC day, by handle or ID.',
  flags: {
    from: text('<date>', 'first day, up to 92 days ago (default: 89 days before the last)'),
    to: text('<date>', 'last day (default today)'),
    ...scopeFlags,
  },
  data: usageView,
  watch: true,
  examples: ['svc key usage k3x9q2ab', 'svc key usage k3x9q2ab --from 2026-11-01 --to 2026-11-30'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const query = { ...scope.query, from: flags.from, to: flags.to };
    const usage = await scope.api.call('GET', scope.path('api-keys', args.key, 'usage'), usageView, { query });
    const { from, to, totals, days } = usage;
    context.print(
      {
        data: usage,
        table: table(
          [...days, { day: 'total', ...totals }],
          [
            { title: 'DAY', value: ({ day }) => day },
            { title: 'ALLOWED', value: ({ allowed }) => allowed },
            { title: 'OVER RATE', value: ({ rateDenied }) => rateDenied },
            { title: 'OVER QUOTA', value: ({ quotaDenied }) => quotaDenied },
          ],
        ),
        names: days.map(({ day }) => day),
      },
      flags.output,
    );
    const note = flags.from !== undefined && flags.from < from ? '; older usage is not stored' : '';
    context.say(`from ${from} to ${to}${note}`);
  },
});
