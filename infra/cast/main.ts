import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from '../demo/program.ts';
import { readRunInfo } from '../run-info.ts';
import { castPage } from './page.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { writeCast } from './cast.ts';
import { lessonsOf } from './tutorial.ts';

/** Variables that say how to reach the registry of packages. */
const registryVariables = ['npm_config_userconfig', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];

/**
 * `npm run cast`: clones this repository into an empty home folder, starts the platform there, follows the tutorial
 * `deploy-a-folder`, and records all of it into `docs/first-day.cast` and `docs/first-day.md`. Takes a few minutes. What is
 * not committed is not in the clone.
 */
// Users of pods read programs in the clone.
const home = mkdtempSync('/var/tmp/svc-cast-');
chmodSync(home, 0o755);
const platform = join(home, '.local/share/svc');
const recorder = createRecorder({
  title: 'The first day',
  home,
  env: environment(),
  print: (text) => process.stdout.write(text),
});
try {
  await start(recorder);
  await follow(recorder);
  writeFileSync(join(root, 'docs/first-day.cast'), writeCast(recorder.cast()));
  writeFileSync(join(root, 'docs/first-day.md'), castPage(recorder.cast()));
} finally {
  const down = ['cli/svc.js', 'down', '--purge', '--yes'];
  await run(process.execPath, down, { env: { SVC_HOME: platform } });
  rmSync(home, { recursive: true, force: true });
}

/** The variables of a new user: nothing of this process's but the programs of the machine and the registry of packages. */
function environment(): Record<string, string> {
  const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
  const packages = join(home, '.npm-packages');
  mkdirSync(packages);
  const registry = Object.entries(process.env).filter(([name]) => registryVariables.includes(name));
  return {
    HOME: home,
    PATH: [join(packages, 'bin'), ...folders].join(':'),
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    SVC_HOME: platform,
    npm_config_prefix: packages,
    npm_config_progress: 'false',
    npm_config_update_notifier: 'false',
    ...Object.fromEntries(registry),
  };
}

async function start(recorder: Recorder): Promise<void> {
  recorder.chapter('Clone');
  await recorder.type(`git clone --quiet '${root}' svc`, 'git clone https://git.example.com/svc.git');
  recorder.chapter('Start the platform');
  await recorder.type('cd svc && npm start -- --detach');
  await recorder.type('cd svc && npm link');
}

/** The tutorial, with the port of this platform in place of the page's. */
async function follow(recorder: Recorder): Promise<void> {
  const { port } = new URL(readRunInfo(platform).api);
  const page = readFileSync(join(root, 'docs/tutorials/deploy-a-folder.md'), 'utf8');
  for (const { title, commands } of lessonsOf(page)) {
    recorder.chapter(title);
    for (const command of commands)
      await recorder.type(command.replaceAll('apps.localhost:8080', `apps.localhost:${port}`));
  }
}
