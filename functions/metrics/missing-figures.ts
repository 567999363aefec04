import type { MetricsSources, SourceState } from '../../runtime/api/metrics-sources.ts';
import type { FigureName, MetricKind } from '../../runtime/metrics/figures.ts';
import type { MetricValue } from '../../runtime/metrics/metrics-store.ts';

/**
 * Says why figures without any value are missing. A workload that was not asked or did not run has none either, so only a
 * source that does not work is a reason.
 */
export async function missingFigures(
  kind: MetricKind,
  figures: Partial<Record<FigureName, MetricValue[]>>,
  sources: MetricsSources,
): Promise<string[]> {
  const isMissing = (name: FigureName) => figures[name]?.every((value) => value === null) ?? true;
  const works = async (source: Promise<SourceState | undefined>) => {
    // What is unknown is no reason.
    const state = await source.catch(() => undefined);
    return state === undefined || state.status === 'on';
  };
  const notes: string[] = [];
  // Requests of functions are counted by the platform itself.
  if (kind === 'app' && isMissing('requestsPerSecond') && !(await works(sources.ingress(false)))) {
    notes.push(note('Requests and latency', 'the metrics of the ingress', 'ingress-metrics'));
  }
  if (isMissing('cpuCores') && isMissing('memoryBytes') && !(await works(sources.usage()))) {
    notes.push(note('CPU and memory', 'the metrics API of the cluster', 'metrics-api'));
  }
  return notes;
}

function note(figures: string, source: string, component: string): string {
  return `${figures} are not collected: the platform does not get ${source}. \`svc status\` shows why, at ${component}.`;
}
