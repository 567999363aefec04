import { choice, text, toggle } from './flags.ts';
import { outputFormats } from './output.ts';

/** For commands that print data. */
const outputFlag = { output: choice(outputFormats, 'output format (default table)', { short: 'o' }) };

/** For commands that call the management API. */
export const apiFlags = {
  api: text('<address>', 'address of the management API (SVC_API; default: last login)'),
  ...outputFlag,
};

/** For commands about a whole project. */
export const projectFlags = {
  project: text('<project>', 'project (SVC_PROJECT; default: svc project use)', { short: 'p' }),
  ...apiFlags,
};

/** For commands about an environment. */
export const scopeFlags = {
  project: projectFlags.project,
  environment: text('<environment>', 'environment (SVC_ENVIRONMENT; default: the only one)', { short: 'e' }),
  ...apiFlags,
};

/** For commands that destroy something. */
export const yesFlag = { yes: toggle('skip the confirmation', { short: 'y' }) };

/** For commands with a reversible effect. They ask no confirmation, but accept `--yes` so that scripts can always pass it. */
export const noPromptFlag = { yes: toggle('accepted for scripts; no confirmation is needed', { short: 'y' }) };
