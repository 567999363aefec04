import type { Restartable } from './workload-restart.ts';

/** Functions, for commands that change their variables and secrets. */
export const restartableFunction: Restartable = {
  kind: 'function',
  restarts: true,
  article: 'a function',
  example: 'hello',
  async applyChange(context, flags, scope, name) {
    if (flags.restart) return (await import('./function-restart.ts')).restart(context, flags, scope, name);
    const restartHint = `svc function restart ${name} ${scope.flags}`;
    context.say(`the change applies to the next cold start or run; apply it now: ${restartHint}`);
  },
};
