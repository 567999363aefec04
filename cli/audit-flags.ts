import { scopeFlags } from './common-flags.ts';
import { amount, duration, text, toggle } from './flags.ts';

/** How long entries are kept, in seconds. */
const keptSeconds = 90 * 86_400;

/** For `svc audit`. Without any import of the API's contract, since every command loads these options. */
export const auditFlags = {
  platform: toggle('all projects and the platform itself (platform admins)'),
  action: text('<action>', 'only actions that begin with this text, such as app. or secret.reveal'),
  actor: text('<email>', 'only what this user did, also with access tokens'),
  object: text('<name>', 'only entries about the object with this name'),
  since: duration('<duration>', 'maximum age of entries, such as 24h (default 90d)', { max: keptSeconds }),
  until: duration('<duration>', 'minimum age of entries, such as 1h', { max: keptSeconds }),
  limit: amount('<n>', 'maximum number of results (default 50)', { min: 1, max: 500 }),
  ...scopeFlags,
  environment: text('<environment>', 'only this environment (default: all)', { short: 'e' }),
};
