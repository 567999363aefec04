import type { Restartable } from './workload-restart.ts';

/** Jobs, for commands that change their variables, secrets and bindings. */
export const configurableJob: Restartable = {
  kind: 'job',
  restarts: false,
  article: 'a job',
  example: 'report',
  applyChange(context) {
    context.say('the change applies from the next run');
    return Promise.resolve();
  },
};
