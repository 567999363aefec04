const units = ['', 'Ki', 'Mi', 'Gi', 'Ti'];

/** Bytes in a binary unit with up to one decimal: `64Mi`, `1.5Gi`. Pure. */
export function formatUnits(bytes: number): string {
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < units.length - 1) {
    value /= 1024;
    index++;
  }
  return `${Number(value.toFixed(value < 10 ? 1 : 0))}${units[index] ?? ''}`;
}
