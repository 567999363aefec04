import { apiFlags } from './common-flags.ts';
import { text, toggle } from './flags.ts';

// Apart from the commands, so that their modules can be loaded on use.

export const loginFlags = {
  api: apiFlags.api,
  email: text('<address>', 'email address (default: prompt)'),
  passwordStdin: toggle('read the password from standard input'),
  passwordFile: text('<file>', 'read the password from a file'),
  context: text('<context>', 'name for this login (default: the current one, or the host of the platform)'),
};

export const logoutFlags = { api: apiFlags.api, context: apiFlags.context };

export const whoamiFlags = apiFlags;

export const statusFlags = apiFlags;
