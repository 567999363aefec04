import { startServers } from './servers.ts';

await startServers(process.ppid);
