import type { LazyCommand } from '../command.ts';
import type { Restartable } from './workload-restart.ts';

/** The commands that all kinds of workloads have. */
export function workloadCommands(
  words: Restartable,
): Record<'bind' | 'bindings' | 'exec' | 'metrics' | 'unbind', LazyCommand> {
  const { kind } = words;
  const ofBindings = (name: 'bind' | 'bindings' | 'unbind'): LazyCommand => ({
    name,
    load: async () => (await import('./workload-bind.ts')).bindingCommands(words)[name],
  });
  return {
    bind: ofBindings('bind'),
    unbind: ofBindings('unbind'),
    bindings: ofBindings('bindings'),
    exec: { name: 'exec', load: async () => (await import('./workload-exec.ts')).execCommand(kind) },
    metrics: { name: 'metrics', load: async () => (await import('./workload-metrics.ts')).metricsCommand(kind) },
  };
}
