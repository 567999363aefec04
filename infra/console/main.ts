import { buildConsole, consoleFolder } from './build.ts';

/** `npm run console`: builds the web console, if its sources have changed. */
await buildConsole((line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${consoleFolder}\n`);
