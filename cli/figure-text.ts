import { formatUnits } from './units.ts';

/** How a figure is shown: its title, and its values as text. */
interface FigureText {
  title: string;
  text: (value: number) => string;
}

const rate = (value: number) => `${rounded(value)}/s`;
const count = (value: number) => String(Math.round(value));

/** By the field of the API, in the order in which they are shown. */
export const figureTexts: Readonly<Record<string, FigureText>> = {
  requestsPerSecond: { title: 'requests', text: rate },
  errorsPerSecond: { title: 'errors', text: rate },
  latencyP50Seconds: { title: 'latency p50', text: secondsText },
  latencyP95Seconds: { title: 'latency p95', text: secondsText },
  latencyP99Seconds: { title: 'latency p99', text: secondsText },
  coldStarts: { title: 'cold starts', text: count },
  cpuCores: { title: 'cpu', text: coresText },
  memoryBytes: { title: 'memory', text: formatUnits },
  replicas: { title: 'replicas', text: count },
  readyReplicas: { title: 'ready', text: count },
  restarts: { title: 'restarts', text: count },
  oomKills: { title: 'out of memory', text: count },
};

/** CPU in thousandths of a core, as in Kubernetes: `250m`. */
export function coresText(cores: number): string {
  return `${Math.round(cores * 1000)}m`;
}

/** A rate or a number with about three digits. */
export function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** `12ms`, `1.5s`. */
export function secondsText(seconds: number): string {
  return seconds < 1 ? `${rounded(seconds * 1000)}ms` : `${rounded(seconds)}s`;
}
