import type { Restartable } from './workload-restart.ts';

/** Apps, for commands that change their variables and secrets. */
export const restartableApp: Restartable = {
  kind: 'app',
  restarts: true,
  article: 'an app',
  example: 'api',
  async applyChange(context, flags, scope, app) {
    if (flags.restart) await (await import('./app-restart.ts')).restart(context, flags, scope, app);
    else context.say(`the change applies to the next deployment; apply it now: svc app restart ${app} ${scope.flags}`);
  },
};
