import { variablesView } from '../../runtime/contracts/api/variables.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { imageReference, negated, texts, toggle, withoutDefaults } from '../flags.ts';
import { readVariable } from '../key-values.ts';
import { resolveScope } from '../scope.ts';
import { jobKind } from './job-kind.ts';
import { settingFlags, settingsBody } from './job-settings.ts';

export const updateCommand = command({
  name: 'update',
  args: ['job'],
  description: 'Change a job for later runs. --volume replaces all mounts.',
  flags: {
    image: imageReference('image with registry, name and tag'),
    ...withoutDefaults(settingFlags),
    env: texts('<NAME=value>', 'variable to set; the others stay, as with svc job env set'),
    manual: toggle('remove the schedule'),
    volumes: negated('unmount all volumes'),
    suspend: toggle('suspend the schedule'),
    resume: toggle('resume the schedule'),
    ...scopeFlags,
  },
  data: jobKind.schema,
  examples: ['svc job update report --image registry.example.com/shop/report:8', 'svc job update report --suspend'],
  async run({ context, args, flags }) {
    if (flags.suspend && flags.resume) throw usageFailure('Use either --suspend or --resume.');
    if (flags.manual && flags.schedule !== undefined) throw usageFailure('Use either --schedule or --manual.');
    if (!flags.volumes && flags.volume.length > 0) throw usageFailure('Use either --volume or --no-volumes.');
    const body = {
      ...(flags.image !== undefined && { image: flags.image }),
      ...settingsBody(flags),
      ...(flags.manual && { schedule: null }),
      ...(!flags.volumes && { volumes: null }),
      ...((flags.suspend || flags.resume) && { suspended: flags.suspend }),
    };
    const hasSettings = Object.keys(body).length > 0;
    if (!hasSettings && flags.env.length === 0) throw usageFailure('Nothing to change. See svc job update --help.');
    const variables = Object.fromEntries(flags.env.map((typed) => readVariable(typed)));
    const scope = resolveScope(context, flags);
    const updated = hasSettings ? await jobKind.update(scope, args.job, body) : undefined;
    if (flags.env.length > 0) {
      const path = scope.path('jobs', args.job, 'env');
      await scope.api.call('PATCH', path, variablesView, { query: scope.query, body: variables });
    }
    const job = flags.env.length > 0 ? await jobKind.read(scope, args.job) : updated;
    if (job) jobKind.print(context, job, flags.output);
  },
});
