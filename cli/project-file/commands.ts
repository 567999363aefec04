import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';
import { readEnvFile } from '../env-file.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import type { OutputFormat } from '../output.ts';
import { confirm } from '../prompt.ts';
import { applyPlan, type ApplyFlags } from './apply.ts';
import { exportProjectFile } from './export.ts';
import { planProjectFile, type Plan } from './plan.ts';
import { readProjectFile } from './read.ts';
import { hasChanges, planData, planText } from './render.ts';

interface PlanFlags {
  api: string | undefined;
  file: string | undefined;
  environment: string | undefined;
  prune: boolean;
  pruneData: boolean;
  output: OutputFormat | undefined;
}

const defaultFile = 'svc.yaml';

async function readPlan(context: Context, flags: PlanFlags): Promise<Plan> {
  if (flags.pruneData && !flags.prune) throw usageFailure('--prune-data requires --prune.');
  if (flags.file === undefined && !existsSync(defaultFile)) {
    throw usageFailure(
      'There is no svc.yaml in this folder.',
      'name it with --file, write one, or start with: svc export --project <project> > svc.yaml',
    );
  }
  const file = readProjectFile(flags.file ?? defaultFile);
  return planProjectFile(context, file, flags);
}

function print(context: Context, plan: Plan, output: OutputFormat | undefined): void {
  const changed = plan.environments.flatMap(({ objects }) => objects.filter(({ action }) => action !== undefined));
  const names = changed.map(({ kind, name }) => `${kind}/${name}`);
  context.print({ data: planData(plan), table: planText(plan), names }, output);
}

export async function runDiff(context: Context, flags: PlanFlags & { exitCode: boolean }): Promise<void> {
  const plan = await readPlan(context, flags);
  print(context, plan, flags.output);
  if (flags.exitCode && hasChanges(plan)) {
    throw new Failure('There are differences.', { code: 'different', exitCode: exitCodes.failed });
  }
}

export async function runApply(
  context: Context,
  flags: PlanFlags & ApplyFlags & { dryRun: boolean; secretsFile: string | undefined; yes: boolean },
): Promise<void> {
  const plan = await readPlan(context, flags);
  print(context, plan, flags.output);
  if (flags.dryRun) return;
  const deleted = plan.environments.flatMap(({ environment, objects }) =>
    objects.filter(({ action }) => action === 'delete').map(({ kind, name }) => `${environment}/${kind}/${name}`),
  );
  if (deleted.length > 0) await confirm(context, flags, `Delete ${deleted.join(', ')}?`);
  const secrets = flags.secretsFile === undefined ? {} : readEnvFile(flags.secretsFile);
  await applyPlan(context, flags, plan, new Map(Object.entries(secrets)));
}

export async function runExport(
  context: Context,
  flags: { api: string | undefined; project: string | undefined; environment: string | undefined },
): Promise<void> {
  const { project } = context.scope(flags);
  const { text, functions } = await exportProjectFile(context, { ...flags, project });
  context.stdout.write(text);
  if (functions.length > 0) {
    context.say(`svc cannot export the code of ${functions.join(', ')}; put it in the files that codeFile names`);
  }
}
