import { revisionView, type RevisionDifference } from '../../runtime/contracts/api/revisions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, text } from '../flags.ts';
import { table, type Column } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { newestDeployments } from './deployment.ts';

const revisionMax = 2_147_483_647;
const kindText = { deployment: 'image', setting: 'setting', variable: 'variable', secret: 'secret' } as const;

const columns: Column<RevisionDifference>[] = [
  { title: 'KIND', value: ({ kind }) => kindText[kind] },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'CHANGE', value: ({ change }) => change },
  { title: 'BEFORE', value: (entry) => valueText(entry, entry.before, 'added') },
  { title: 'AFTER', value: (entry) => valueText(entry, entry.after, 'removed') },
];

/** A dash where there is no value, such as before it was added. */
function valueText({ change }: RevisionDifference, value: string | undefined, absentWhen: string): string | undefined {
  return value ?? (change === absentWhen ? undefined : '(not shown)');
}

/** `previous`, `now` or the number of a revision, for the request. @throws Failure (usage) */
function comparedWith(value: string | undefined): string | undefined {
  if (value === undefined || value === 'now' || value === 'previous') return value;
  if (/^[1-9]\d{0,9}$/.test(value) && Number(value) <= revisionMax) return value;
  throw usageFailure(`--compare-with must be the number of a revision, "previous" or "now", not "${value}".`);
}

/** The revision that an app runs. @throws Failure for an app that has none */
async function currentRevision(scope: Scope, app: string): Promise<number> {
  const current = (await newestDeployments(scope, app, 500)).find((deployment) => deployment.current);
  if (current?.revision !== undefined) return current.revision;
  throw new Failure(`No revision of ${app} has succeeded yet. Choose one with --revision.`, {
    code: 'not_found',
    hint: `svc app history ${app} ${scope.flags}`,
  });
}

export const appDiffCommand = command({
  name: 'diff',
  args: ['app'],
  description: 'Show what a revision changed: image, settings, variables, secrets.',
  flags: {
    revision: amount('<n>', 'revision to show (default: the current one)', { min: 1, max: revisionMax }),
    compareWith: text('<n>', 'another revision, or "now" (default: the one before it)'),
    ...scopeFlags,
  },
  data: revisionView,
  examples: [
    'svc app diff api',
    'svc app diff api --revision 3 --compare-with now',
    'svc app diff api --revision 5 --compare-with 2 -o json',
  ],
  async run({ context, args, flags }) {
    const compareWith = comparedWith(flags.compareWith);
    const scope = resolveScope(context, flags);
    const revision = flags.revision ?? (await currentRevision(scope, args.app));
    const view = await scope.api.call('GET', scope.path('apps', args.app, `revisions/${revision}`), revisionView, {
      query: { ...scope.query, compareWith },
    });
    const { comparison } = view;
    const differences = comparison?.differences ?? [];
    context.say(
      comparison
        ? `revision ${revision} of ${args.app}, compared with ${comparison.revision === undefined ? 'the current state of the app' : `revision ${comparison.revision}`}`
        : `nothing ran before revision ${revision} of ${args.app}`,
    );
    context.print(
      {
        data: view,
        table: comparison && differences.length === 0 ? 'no differences' : table(differences, columns),
        names: differences.map(({ name }) => name),
      },
      flags.output,
    );
    if (comparison && comparison.unknown.length > 0) {
      context.say(`not compared, because they are not stored for both: ${comparison.unknown.join(', ')}`);
    }
  },
});
