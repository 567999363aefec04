import type { AppView, DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import type { TopItem } from '../../../../runtime/contracts/api/metrics.ts';

/** One workload in the overview of an environment. */
export interface Row {
  kind: 'app' | 'function' | 'job';
  name: string;
  status: string;
  message?: string | undefined;
  /** Ready and desired pods; absent for a job. */
  replicas?: string;
  top?: TopItem | undefined;
  /** An app's newest deployment. */
  deployment?: DeploymentView | undefined;
}

interface Lists {
  apps: readonly AppView[];
  functions: readonly FunctionView[];
  jobs: readonly JobView[];
  top: readonly TopItem[];
  /** Newest first. */
  deployments: readonly DeploymentView[];
}

/** All workloads of an environment by name, whatever their kind; a name belongs to one of them only. */
export function rowsOf({ apps, functions, jobs, top, deployments }: Lists): Row[] {
  const topOf = (kind: Row['kind'], name: string) => top.find((item) => item.kind === kind && item.name === name);
  const rows: Row[] = [
    ...apps.map(({ name, status, message, readyReplicas, replicas }) => ({
      kind: 'app' as const,
      name,
      status,
      message,
      replicas: `${readyReplicas}/${replicas}`,
      deployment: deployments.find(({ app }) => app === name),
    })),
    ...functions.map(({ name, status, message, readyReplicas, replicas, trigger }) => ({
      kind: 'function' as const,
      name,
      status,
      message,
      ...(trigger !== 'cron' && { replicas: `${readyReplicas}/${replicas}` }),
    })),
    ...jobs.map(({ name, status, message }) => ({ kind: 'job' as const, name, status, message })),
  ];
  return rows.map((row) => ({ ...row, top: topOf(row.kind, row.name) })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** `0.25`, `1.5`, `12`: three digits, and no fraction from 100 on; undefined for what is not known. */
export function figure(value: number | null | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  return value.toLocaleString('en', value >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 });
}

/** `64 MiB` */
export function bytes(value: number | null | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${(value / 1024 ** power).toLocaleString('en', { maximumSignificantDigits: 3 })} ${units[power]}`;
}
