import { choice, text, toggle } from './flags.ts';
import { outputFormats } from './output.ts';

/** For commands that print data. */
export const outputFlag = { output: choice(outputFormats, 'output format (default table)', { short: 'o' }) };

/** For commands that call the management API. */
export const apiFlags = {
  api: text('<address>', 'address of the management API (SVC_API; default: last login)'),
  context: text('<context>', 'saved login to use (SVC_CONTEXT; default: svc context use)'),
  ...outputFlag,
};

/** For commands that print data. */
export const jqFlag = text('<expression>', 'print what this jq expression selects of the JSON data', { short: 'q' });

/** For commands that only read. */
export const watchFlag = toggle('repeat until Ctrl-C, and print what changes', { short: 'w' });

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

const anyFields = text('[fields]', 'print these fields as JSON, such as name,status; alone: list the fields');

/** Options that many commands have, which the reference explains once. */
export const commonFlags = { ...scopeFlags, json: anyFields, jq: jqFlag, watch: watchFlag };
