import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { buildArguments } from '../../../../infra/images/builder/buildah.ts';
import { createBuildahOutput } from '../../../../infra/images/builder/buildah-output.ts';
import { makeFolderImage } from '../../../../infra/images/builder/folder-image.ts';
import { run } from '../../../../infra/images/builder/run.ts';

/** The reason found in this output of buildah. */
function why(output: string): string | undefined {
  const read = createBuildahOutput();
  for (const line of output.split('\n')) read.line(line);
  return read.failure();
}

t.test('a failed build is reported with its step and the error line of that step', (t) => {
  t.equal(
    why(`[1/2] STEP 1/2: FROM scratch AS one
[2/2] STEP 2/3: RUN echo before
before
[2/2] STEP 3/3: RUN echo out; echo err >&2;   exit 3
out
err
subprocess exited with status 3
subprocess exited with status 3
Error: building at STEP "RUN echo out; echo err >&2;   exit 3": exit status 3`),
    'step 3/3 (RUN echo out; echo err >&2;   exit 3) failed with exit code 3: err',
  );
  t.equal(
    why(`STEP 2/3: RUN echo before
before
STEP 3/3: RUN false
subprocess exited with status 1
subprocess exited with status 1
Error: building at STEP "RUN false": exit status 1`),
    'step 3/3 (RUN false) failed with exit code 1',
    'the output of earlier steps is ignored',
  );
  t.equal(
    why(`STEP 2/2: RUN npm ci
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/nope - Not found
npm error 404
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /workspace/.npm/_logs/1-debug-0.log
subprocess exited with status 1
Error: building at STEP "RUN npm ci": exit status 1`),
    'step 2/2 (RUN npm ci) failed with exit code 1: 404 Not Found - GET https://registry.npmjs.org/nope - Not found',
  );
  t.equal(
    why(`STEP 2/2: RUN npm run build
src/main.ts(1,5): error TS2322: Type 'string' is not assignable to type 'number'.
npm error code 2
npm error command sh -c tsc
Error: building at STEP "RUN npm run build": exit status 2`),
    "step 2/2 (RUN npm run build) failed with exit code 2: src/main.ts(1,5): error TS2322: Type 'string' is not assignable to type 'number'.",
  );
  t.equal(
    why(`STEP 2/2: COPY nope /x
Error: building at STEP "COPY nope /x": checking on sources under "/workspace/source": copier: stat: "/nope": no such file or directory`),
    'step 2/2 (COPY nope /x): checking on sources under "/workspace/source": copier: stat: "/nope": no such file or directory',
  );
  t.equal(
    why(`STEP 3/3: RUNN x
Error: building at STEP "RUNN ": Build error: Unknown instruction: "RUNN" &imagebuilder.Step{Env:[]string{"PATH=/usr"}}`),
    'step 3/3 (RUNN x): Build error: Unknown instruction: "RUNN"',
  );
  t.equal(
    why('Error: determining starting point for build: no FROM statement found'),
    'determining starting point for build: no FROM statement found',
  );
  const long = why(
    `STEP 1/2: FROM x\nSTEP 2/2: RUN ${'x'.repeat(5_000)}\nError: building at STEP "RUN": exit status 1`,
  );
  t.match(long, /^step 2\/2 \(RUN x{1,150}…\) failed with exit code 1$/);
  t.equal(why('STEP 1/1: FROM x'), undefined);
  t.end();
});

t.test('a failed program is reported with its name, its exit code and its error line', async (t) => {
  const ends = (code: string, name?: string) =>
    run(process.execPath, ['-e', code], { ...(name !== undefined && { name }) });
  await ends('console.log("fine")');
  await t.rejects(
    ends('console.error("no such module"); console.error("\\n[notice] a newer one"); process.exit(3)', 'x'),
    { name: 'BuildFailure', message: 'x failed with exit code 3: no such module' },
  );
  await t.rejects(ends('process.kill(process.pid, "SIGKILL")', 'x'), { message: 'x failed with SIGKILL' });
  await t.rejects(run('/nowhere/npm', ['ci']), { message: /^\/nowhere\/npm ci cannot start: .*ENOENT/ });
  const listener = { line: () => undefined, failure: () => 'it rained' };
  await t.rejects(run(process.execPath, ['-e', 'process.exit(1)'], { listener }), { message: 'it rained' });
});

t.test('Go is found where its own installation is, which is not on the PATH of pods', async (t) => {
  const folder = t.testdir({
    bin: { go: '#!/bin/sh\necho "$PATH" > path\n' },
    app: { 'go.mod': 'module app', 'main.go': 'package main' },
  });
  chmodSync(join(folder, 'bin/go'), 0o755);
  const { PATH } = process.env;
  process.env['PATH'] = `${join(folder, 'bin')}:/usr/bin:/bin`;
  t.teardown(() => (process.env['PATH'] = PATH));
  const settings = { workspace: folder, target: '127.0.0.1:1/app:1', dockerfile: undefined };
  await makeFolderImage(settings, { context: join(folder, 'app'), now: 0 });
  t.match(readFileSync(join(folder, 'app/path'), 'utf8').trim().split(':').at(-1), '/usr/local/go/bin');
});

t.test('a Dockerfile gets the registries and certificates that it declares as arguments', (t) => {
  const folder = t.testdir({
    none: 'FROM x\n# ARG npm_config_registry\nRUN echo ARG PIP_INDEX_URL\n',
    some: 'FROM x\n  arg npm_config_registry\nARG A=1 PIP_INDEX_URL="https://pypi.org/simple"\nARG MY_PIP_TRUSTED_HOST\n',
  });
  const env = {
    npm_config_registry: 'https://npm.test/',
    PIP_INDEX_URL: 'http://pypi.test/simple',
    PIP_TRUSTED_HOST: 'h',
  };
  const argumentsFor = (file: string, variables: Record<string, string> = env) =>
    buildArguments(join(folder, file), variables);
  t.same(argumentsFor('none'), []);
  t.same(argumentsFor('some'), [
    '--build-arg',
    'npm_config_registry=https://npm.test/',
    '--build-arg',
    'PIP_INDEX_URL=http://pypi.test/simple',
  ]);
  t.same(argumentsFor('some', {}), []);
  t.end();
});
