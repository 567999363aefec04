import { Problem } from './problem.ts';

const factors: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/**
 * Bytes of a Kubernetes quantity of memory or storage, such as `512Mi`, `1.5Gi` or `10G`; undefined for anything else.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export function parseBytes(quantity: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)([kMGTP]|[KMGTP]i)?$/.exec(quantity);
  const bytes = Number(match?.[1]) * (factors[match?.[2] ?? ''] ?? Number.NaN);
  return Number.isFinite(bytes) ? Math.ceil(bytes) : undefined;
}

const binaryUnits = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** Bytes, rounded up to whole KiB, in the largest binary unit that is exact: 402653184 is `384Mi`. */
export function formatBytes(bytes: number): string {
  let count = Math.max(1, Math.ceil(bytes / 1024));
  let unit = 0;
  for (; count % 1024 === 0 && unit < binaryUnits.length - 1; unit++) count /= 1024;
  return `${count}${binaryUnits[unit]}`;
}

/**
 * The quantity as the API server returns it (`1024Mi` as `1Gi`), so that a stored object equals the requested one.
 * Text that is not a quantity is returned unchanged, for the API server to refuse.
 */
export function canonicalBytes(quantity: string): string {
  const bytes = parseBytes(quantity);
  return bytes === undefined ? quantity : formatBytes(bytes);
}

/** As {@link canonicalBytes} for CPU: `0.5` as `500m`, `1000m` as `1`. */
export function canonicalCpu(quantity: string): string {
  const millicores = parseMillicores(quantity);
  if (millicores === undefined) return quantity;
  return millicores % 1000 === 0 ? String(millicores / 1000) : `${millicores}m`;
}

/**
 * Checks a quantity of memory or storage.
 * @returns its bytes @throws Problem `invalid_value`
 */
export function checkBytes(quantity: string, field: string, { min }: { min: string }): number {
  const bytes = parseBytes(quantity);
  if (bytes === undefined || bytes < (parseBytes(min) ?? 0)) {
    throw new Problem(
      'invalid_value',
      `"${quantity}" is not a valid ${field} value; use at least ${min}, such as 512Mi or 10Gi.`,
      { details: { field } },
    );
  }
  return bytes;
}

/** Checks a quantity of CPU. @throws Problem `invalid_value` */
export function checkCpu(quantity: string, field = 'cpu'): void {
  if ((parseMillicores(quantity) ?? 0) > 0) return;
  throw new Problem(
    'invalid_value',
    `"${quantity}" is not a valid ${field} value; use a number of cores, such as 250m or 1.5.`,
    { details: { field } },
  );
}

/** Checks the limits of a container; absent ones are valid. @throws Problem `invalid_value` */
export function checkLimits(limits: { memory?: string | null | undefined; cpu?: string | null | undefined }): void {
  if (typeof limits.memory === 'string') checkBytes(limits.memory, 'memory', { min: '4Mi' });
  if (typeof limits.cpu === 'string') checkCpu(limits.cpu);
}

/** Thousandths of a CPU of a Kubernetes quantity, such as `250m` or `1.5`; undefined for anything else. */
export function parseMillicores(quantity: string): number | undefined {
  const match = /^(?:(\d{1,6})m|(\d{1,3}(?:\.\d{1,3})?))$/.exec(quantity);
  if (!match) return undefined;
  return match[1] === undefined ? Math.round(Number(match[2]) * 1000) : Number(match[1]);
}
