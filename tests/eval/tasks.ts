import type { Task } from './task.ts';
import { changeTasks } from './tasks/changes.ts';
import { deploymentTasks } from './tasks/deployments.ts';
import { eventTasks } from './tasks/events.ts';
import { gateTasks } from './tasks/gate.ts';
import { limitTasks } from './tasks/limits.ts';
import { scheduleTasks } from './tasks/schedules.ts';

export const tasks: readonly Task[] = [
  ...deploymentTasks,
  ...gateTasks,
  ...eventTasks,
  ...scheduleTasks,
  ...limitTasks,
  ...changeTasks,
];
