/** `npm run bench -- <name>`: each bench prints its figures (figure.ts) and needs what its own file says. */
const benches: Readonly<Record<string, () => Promise<{ run(args: string[]): Promise<void> }>>> = {
  all: () => import('./all.ts'),
  acceptance: () => import('./acceptance.ts'),
  'cold-start': () => import('./cold-start.ts'),
  console: () => import('./console.ts'),
  controllers: () => import('./controllers.ts'),
  'controllers-at-size': () => import('./controllers-at-size.ts'),
  deploys: () => import('./deploys.ts'),
  events: () => import('./events.ts'),
  'first-day': () => import('./first-day.ts'),
  functions: () => import('./functions.ts'),
  gate: () => import('./gate.ts'),
  'gate-cores': () => import('./gate-cores.ts'),
  'gate-limits': () => import('./gate-limits.ts'),
  history: () => import('./history.ts'),
  lists: () => import('./lists.ts'),
  local: () => import('./local.ts'),
  monitoring: () => import('./monitoring.ts'),
  'rolling-restart': () => import('./rolling-restart.ts'),
  siege: () => import('./siege.ts'),
};

const [name = '', ...args] = process.argv.slice(2);
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (bench) await (await bench()).run(args);
else {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(benches).join('|')}\n`);
  process.exitCode = 2;
}
