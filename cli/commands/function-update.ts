import { functionView } from '../../runtime/contracts/api/functions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { withoutDefaults } from '../flags.ts';
import { resolveScope } from '../scope.ts';
import { waitFlags } from '../wait.ts';
import { functionKind } from './function-kind.ts';
import { removalFlags, settingFlags, settingsBody } from './function-settings.ts';
import { sourceBody, sourceFlags } from './function-source.ts';
import { discardFlags, discardQuery } from './function-trigger.ts';
import { waitForUpdate } from './function-wait.ts';

export const updateCommand = command({
  name: 'update',
  args: ['function'],
  description: 'Change a function. Other settings keep their values.',
  flags: {
    ...withoutDefaults({ ...sourceFlags, ...settingFlags }),
    ...removalFlags,
    ...discardFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  suggestions: { '--env': 'svc function env set' },
  data: functionView,
  examples: [
    'svc function update hello --code-file hello.js',
    'svc function update hello --idle-timeout 1h --max-replicas 3',
    'svc function update thumbs --memory 1Gi --no-volumes',
    'svc function update resize --image registry.example.com/shop/resize:4',
    'svc function update nightly --schedule "0 3 * * *" --no-wait',
    'svc function update import --trigger http --trigger postgres --event-concurrency 4',
  ],
  async run({ context, args, flags }) {
    const body = { ...(await sourceBody(context, flags)), ...settingsBody(flags) };
    if (Object.keys(body).length === 0) throw usageFailure('Nothing to change. See svc function update --help.');
    const scope = resolveScope(context, flags);
    const path = scope.path('functions', args.function);
    const query = { ...scope.query, ...discardQuery(flags) };
    const changed = await scope.api.call('PATCH', path, functionView, { query, body });
    const current = flags.wait ? await waitForUpdate(context, flags, scope, args.function) : changed;
    functionKind.print(context, current, flags.output);
  },
});
