import type { LazyGroup } from '../command.ts';
import type { Restartable } from './workload-restart.ts';

/** The groups of commands that several kinds of workloads have. */
export function workloadGroups(words: Restartable): Record<'env' | 'gate' | 'secret' | 'security', LazyGroup> {
  const { article } = words;
  return {
    env: {
      name: 'env',
      description: `Manage the variables of ${article}.`,
      load: async () => (await import('./workload-env.ts')).envCommands(words),
    },
    gate: {
      name: 'gate',
      description: `Manage the gate of ${article}.`,
      load: async () => (await import('./workload-gate.ts')).gateCommands(words),
    },
    secret: {
      name: 'secret',
      description: `Manage the secrets of ${article}.`,
      load: async () => (await import('./workload-secret.ts')).secretCommands(words),
    },
    security: {
      name: 'security',
      description: `Manage the security headers of ${article}.`,
      load: async () => (await import('./workload-security.ts')).securityCommands(words),
    },
  };
}
