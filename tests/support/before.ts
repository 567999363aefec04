import { installTestPrograms } from './test-programs.ts';
import { startTestServers } from './test-servers.ts';

await installTestPrograms();
await startTestServers(process.ppid);
