import { startServers } from './servers.ts';
import { installTestPrograms } from './test-programs.ts';

await installTestPrograms();
await startServers(process.ppid);
