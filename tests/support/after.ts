import { endServers } from './servers.ts';

await endServers(process.ppid);
