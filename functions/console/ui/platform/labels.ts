import { filledLines } from '../parts/lines.ts';

/** Labels as `name=value`. */
export function labelLines(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

/** The labels in a text with one `name=value` on each line; a line without `=` is a label with an empty value. */
export function labelsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    filledLines(text).map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=').trim()];
    }),
  );
}
