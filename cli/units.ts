const prefixes = ['', 'Ki', 'Mi', 'Gi', 'Ti'];

/** Bytes in the largest binary unit of which there is one. */
function scale(bytes: number): { value: number; prefix: string } {
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < prefixes.length - 1) {
    value /= 1024;
    index++;
  }
  return { value, prefix: prefixes[index] ?? '' };
}

/** Bytes as a quantity of Kubernetes with up to one decimal: `64Mi`, `1.5Gi`. Pure. */
export function formatUnits(bytes: number): string {
  const { value, prefix } = scale(bytes);
  return `${Number(value.toFixed(value < 10 ? 1 : 0))}${prefix}`;
}

/** The size of a file or an image: `12.3 MiB`. Pure. */
export function sizeText(bytes: number): string {
  const { value, prefix } = scale(bytes);
  return `${prefix === '' ? value : value.toFixed(1)} ${prefix}B`;
}
