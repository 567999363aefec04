import { choice, text, toggle } from './flags.ts';
import { outputFormats } from './output.ts';

/** Of every command that speaks to the management API. */
export const apiFlags = {
  api: text('<address>', 'address of the management API (SVC_API; default: of the last login)'),
  output: choice(outputFormats, 'how to print data (default table)', { short: 'o' }),
};

/** Of every command inside a project. */
export const scopeFlags = {
  project: text('<project>', 'project (SVC_PROJECT; default: of svc project use)', { short: 'p' }),
  environment: text('<environment>', 'environment (SVC_ENVIRONMENT; default: the only one)', { short: 'e' }),
  ...apiFlags,
};

/** Of commands that destroy. */
export const yesFlag = { yes: toggle('do not ask', { short: 'y' }) };

/** Of commands that take away what can be given again, and so do not ask: scripts give the flag to all that take away. */
export const unaskedFlag = { yes: toggle('nothing is asked here; for scripts', { short: 'y' }) };
