import type { Group } from '../command.ts';
import { appGroup } from './app.ts';
import { deploymentGroup } from './deployments.ts';
import { environmentGroup } from './environment.ts';
import { functionGroup } from './function.ts';
import { imageGroup } from './image.ts';
import { installCommand } from './install-command.ts';
import { jobGroup } from './job.ts';
import { keyGroup } from './key.ts';
import { downCommand, upCommand } from './local.ts';
import { memberGroup } from './member.ts';
import { notificationGroup } from './notification.ts';
import { planGroup } from './plan.ts';
import { platformGroup } from './platform.ts';
import { projectGroup } from './project.ts';
import { serviceGroup } from './service.ts';
import { loginCommand, logoutCommand, whoamiCommand } from './session.ts';
import { statusCommand } from './status.ts';
import { userGroup } from './user.ts';
import { volumeGroup } from './volume.ts';

/** Every command of `svc`. */
export const rootGroup: Group = {
  name: 'svc',
  description: 'Deploy apps and functions without knowing Kubernetes.',
  commands: [upCommand, downCommand, installCommand, loginCommand, logoutCommand, whoamiCommand, statusCommand],
  groups: [
    ...[projectGroup, environmentGroup, memberGroup, appGroup, deploymentGroup, planGroup, keyGroup],
    ...[functionGroup, jobGroup, volumeGroup, serviceGroup, notificationGroup, userGroup, platformGroup, imageGroup],
  ],
};
