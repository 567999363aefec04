import { usageView } from '../../runtime/contracts/api/usage.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { text } from '../flags.ts';
import { table } from '../output.ts';
import { placeOf } from '../place.ts';

export const keyUsageCommand = command({
  name: 'usage',
  args: ['key'],
  description: 'Show what the gate decided about an API key, by handle or id, on each UTC day with traffic.',
  flags: {
    from: text('<date>', 'first day (default 89 days before the last); usage is kept for 92 days'),
    to: text('<date>', 'last day (default today)'),
    ...scopeFlags,
  },
  examples: ['svc key usage k3x9q2ab', 'svc key usage k3x9q2ab --from 2026-11-01 --to 2026-11-30'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const query = { ...place.query, from: flags.from, to: flags.to };
    const usage = await place.api.call('GET', place.path('api-keys', args.key, 'usage'), usageView, { query });
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
    const moved = flags.from !== undefined && flags.from < from ? '; nothing older is kept' : '';
    context.say(`from ${from} to ${to}${moved}`);
  },
});
