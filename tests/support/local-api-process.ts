import { createApiServer } from '../../infra/local/apiserver/server.ts';
import { systemClock } from '../../runtime/domain/clock.ts';

/** An embedded API server in a separate process, for tests that kill it. Argument: its folder. */
const server = createApiServer({ dataDir: process.argv[2] ?? '', clock: systemClock });
await server.start();
process.stdout.write(`${server.url}\n`);
