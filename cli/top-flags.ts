import { scopeFlags } from './common-flags.ts';
import { choice } from './flags.ts';

// Apart from the command, so that its module can be loaded on use.

/** What `svc top` sorts by. */
export const topOrders = ['cpu', 'memory', 'requests', 'errors', 'name'] as const;

export const topFlags = { sort: choice(topOrders, 'column to sort by (default cpu)'), ...scopeFlags };
