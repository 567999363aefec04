import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { serveCalls } from '../../runtime/process/client-calls.ts';
import { serveServers } from '../bindings/served-servers.ts';
import { serveSources } from '../events/served-sources.ts';

/**
 * A client process (decision 0037): talks to the server of one tenant at a time, and to `createClientPool` over file
 * descriptor 3. It ends with its parent, and where memory runs out, the kernel ends it first.
 */
const socket = new Socket({ fd: 3 });
socket.on('close', () => process.exit());
try {
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Not every system has it; the pool watches the memory all the same.
}
serveCalls(socket, { ...serveSources(), ...serveServers() });
