import { join } from 'node:path';
import { codeMaxBytes } from '../../runtime/contracts/resources/function.ts';
import { functionKind } from '../commands/function-kind.ts';
import { waitForUpdate } from '../commands/function-wait.ts';
import { openBrowser } from '../commands/open.ts';
import type { Context } from '../context.ts';
import { unlessMissing, usageFailure } from '../failure.ts';
import { readInputFile, runtimeOf } from '../input-file.ts';
import { fields } from '../output.ts';
import type { Scope } from '../scope.ts';
import type { DeployFlags } from './deploy-flags.ts';
import type { FolderFunction, FolderProject } from './project-file.ts';

interface FolderFunctionDeployment {
  name: string;
  /** The folder with svc.yaml. */
  folder: string;
  settings: FolderFunction;
  file: FolderProject;
}

/** Creates or updates the function whose source file a folder has, and prints its URL. @throws Failure */
export async function deployFunction(
  context: Context,
  flags: DeployFlags,
  scope: Scope,
  { name, folder, settings, file }: FolderFunctionDeployment,
): Promise<void> {
  checkFlags(flags);
  const { codeFile, runtime = runtimeOf(codeFile), dependencies } = settings;
  const body = { runtime, code: readCode(join(folder, codeFile)), ...(dependencies && { dependencies }) };
  const exists = await has(scope, name);
  const changed = exists
    ? await functionKind.update(scope, name, body)
    : await functionKind.create(scope, { name, ...body });
  const { project, query } = scope;
  if (file.save({ project, environment: query.environment, section: 'functions', name, settings })) {
    context.say('svc.yaml keeps these settings; the next svc deploy updates the function');
  }
  const current = flags.wait ? await waitForUpdate(context, flags, scope, name) : changed;
  const { url, status } = current;
  context.print(
    {
      data: current,
      table: fields([
        ['Function', name],
        ['Status', status],
        ['URL', url],
      ]),
      names: [url ?? name],
    },
    flags.output,
  );
  if (flags.open && url !== undefined && !(await openBrowser(context, url)))
    context.say(`no browser here; open ${url}`);
}

/** @throws Failure (usage) for a flag that functions do not have here */
function checkFlags({ port, dockerfile, env, envFile, secret, bind }: DeployFlags): void {
  const stray = Object.entries({
    '--port': port,
    '--dockerfile': dockerfile,
    '--env': env[0],
    '--env-file': envFile,
    '--secret': secret[0],
    '--bind': bind[0],
  }).find(([, value]) => value !== undefined);
  if (!stray) return;
  throw usageFailure(`${stray[0]} is for apps, and the folder is a function.`, 'use svc function env, secret or bind');
}

async function has(scope: Scope, name: string): Promise<boolean> {
  return (await unlessMissing(functionKind.read(scope, name))) !== undefined;
}

function readCode(file: string): string {
  const content = readInputFile(file);
  if (content.length === 0) throw usageFailure(`${file} is empty.`);
  if (content.length <= codeMaxBytes) return content.toString();
  throw usageFailure(`${file} is too large: ${content.length} bytes; the limit is ${codeMaxBytes} bytes.`);
}
