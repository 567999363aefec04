import { mkdirSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from '../../runtime/domain/clock.ts';
import { runProcess } from '../../runtime/process/lifecycle.ts';
import { createLogger } from '../../runtime/process/log.ts';
import { startLocalCluster } from './cluster.ts';
import { homeAt } from './home.ts';
import type { Ports } from './ports.ts';
import { recordSupervisor } from './supervisor-record.ts';

/**
 * The process of the embedded cluster, which `supervisor.ts` starts: --home FOLDER --api-port N --ingress-port N
 * --images-port N --metrics-port N --logs-port N. It sends `ready` on its IPC channel once everything runs. With --attached
 * it stops when that channel closes, whatever the reason. With --passwd FILE it has a mount namespace of its own, in which
 * it mounts a copy of /etc/passwd from that file (`node/user-names.ts`).
 */
const { values } = parseArgs({
  options: {
    home: { type: 'string' },
    'api-port': { type: 'string' },
    'ingress-port': { type: 'string' },
    'images-port': { type: 'string' },
    'metrics-port': { type: 'string' },
    'logs-port': { type: 'string' },
    attached: { type: 'boolean', default: false },
    passwd: { type: 'string' },
  },
});
const name = 'svc-local';
const log = createLogger(name, { level: process.env['LOG_LEVEL'] ?? 'info' });

// Pods of other users read the files that this process writes for all, whatever the mask of the user who starts it.
if (process.getuid?.() === 0) process.umask(0o022);
if (values.attached) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

await runProcess({
  name,
  log,
  async start(lifecycle) {
    const home = homeAt(values.home ?? '');
    const ports: Ports = {
      apiServer: Number(values['api-port']),
      ingress: Number(values['ingress-port']),
      images: Number(values['images-port']),
      metrics: Number(values['metrics-port']),
      logs: Number(values['logs-port']),
    };
    mkdirSync(home.folder, { recursive: true });
    recordSupervisor(home, 'starting');
    lifecycle.add({ name: 'record', stop: () => rmSync(home.process, { force: true }) });
    await startLocalCluster({ home, ports, passwd: values.passwd, clock: systemClock, log }, (part) =>
      lifecycle.add(part),
    );
    recordSupervisor(home, 'ready');
    lifecycle.add({ name: 'readiness', stop: () => recordSupervisor(home, 'stopping') });
    process.send?.('ready');
  },
});
