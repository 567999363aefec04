import { endServers } from './servers.ts';

endServers(process.ppid);
