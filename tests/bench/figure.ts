/** The target of a figure. */
export interface Target {
  operator: '<=' | '>=' | '<' | '>' | '==';
  value: number;
}

export interface Figure {
  /** Dotted, such as `cold-start.ratio`. */
  name: string;
  value: number;
  /** `ms`, `ratio`, `req/s`. */
  unit: string;
  /** Absent for a figure that only explains another. */
  target?: Target;
}

function reaches(value: number, { operator, value: bound }: Target): boolean {
  if (operator === '<=') return value <= bound;
  if (operator === '>=') return value >= bound;
  if (operator === '==') return value === bound;
  return operator === '<' ? value < bound : value > bound;
}

/** `figure <name> <value> <unit> target <op><value> ok|short`: one line, for people and for scripts. */
export function figureLine({ name, value, unit, target }: Figure): string {
  const rounded = unit === 'ratio' ? value.toFixed(3) : String(Math.round(value * 10) / 10);
  const targetText = target
    ? ` target ${target.operator}${target.value} ${reaches(value, target) ? 'ok' : 'short'}`
    : '';
  return `figure ${name} ${rounded} ${unit}${targetText}`;
}

/** Prints a figure on stdout. */
export function printFigure(figure: Figure): void {
  process.stdout.write(`${figureLine(figure)}\n`);
}

/** Prints the median of rounds as the figure, and beside it their minimum and maximum. */
export function printRounds(figure: Omit<Figure, 'value'>, rounds: readonly number[]): void {
  printFigure({ ...figure, value: median(rounds) });
  if (rounds.length < 2) return;
  printFigure({ name: `${figure.name}.min`, value: Math.min(...rounds), unit: figure.unit });
  printFigure({ name: `${figure.name}.max`, value: Math.max(...rounds), unit: figure.unit });
}

/** The middle value; of an even count, the mean of the two middle ones. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (upper + lower) / 2;
}
