import type { Group } from '../command.ts';
import { appGroup } from './app.ts';
import { functionGroup } from './function.ts';
import { installCommand } from './install-command.ts';
import { keyGroup } from './key.ts';
import { planGroup } from './plan.ts';
import { environmentGroup, projectGroup } from './project.ts';
import { loginCommand, logoutCommand, whoamiCommand } from './session.ts';
import { statusCommand } from './status.ts';

/** Every command of `svc`. */
export const rootGroup: Group = {
  name: 'svc',
  description: 'Deploy apps and functions without knowing Kubernetes.',
  commands: [installCommand, loginCommand, logoutCommand, whoamiCommand, statusCommand],
  groups: [projectGroup, environmentGroup, appGroup, planGroup, keyGroup, functionGroup],
};
