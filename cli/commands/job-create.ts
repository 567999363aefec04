import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { requiredText } from '../flags.ts';
import { newEnvironmentBody, newEnvironmentFlags } from '../new-environment.ts';
import { resolveScope } from '../scope.ts';
import { jobKind } from './job-kind.ts';
import { settingFlags, settingsBody } from './job-settings.ts';

export const createCommand = command({
  name: 'create',
  args: ['job'],
  description: 'Create a job that runs on demand or on a schedule.',
  flags: {
    image: requiredText('<image>', 'image with registry, name and tag'),
    ...settingFlags,
    ...newEnvironmentFlags,
    ...scopeFlags,
  },
  data: jobKind.schema,
  examples: [
    'svc job create seed --image registry.example.com/shop/api:1.4.2 --command "npm run seed" --bind orders',
    'svc job create report --image registry.example.com/shop/report:7 --schedule "0 2 * * *" --volume data:/data',
  ],
  async run({ context, args, flags }) {
    const environment = await newEnvironmentBody(context, flags);
    const body = { name: args.job, image: flags.image, ...settingsBody(flags), ...environment };
    jobKind.print(context, await jobKind.create(resolveScope(context, flags), body), flags.output);
  },
});
