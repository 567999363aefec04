import { isDeepStrictEqual } from 'node:util';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import { codePoints, isJson } from './json.ts';

/** The values that a rule's names stand for. */
export type Scope = Readonly<Record<string, unknown>>;

/** A rule that was read once and may be asked often. */
export interface CompiledRule {
  /** Whether it speaks of the object as it was before. */
  transition: boolean;
  /** Whether it is true. False too where it fails, as with a field that is not there. */
  holds(scope: Scope): boolean;
}

type Expression = (scope: Scope) => unknown;

const tokenPattern =
  /\s*(?:(?<number>\d+(?:\.\d+)?)|(?<name>[A-Za-z_]\w*)|(?<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:().,[\]]))/y;

/** A quantity is a value of its own kind, which only compares. */
class Quantity {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A field that is missing, or a type that does not fit: the rule is broken. */
class EvaluationError extends Error {}

const fail = (message: string): never => {
  throw new EvaluationError(message);
};
const truth = (value: unknown): boolean => (typeof value === 'boolean' ? value : fail('not a boolean'));
const text = (value: unknown): string => (typeof value === 'string' ? value : fail('not a string'));
const list = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value as unknown[];
  // A map is gone through by its keys.
  return isJson(value) ? Object.keys(value) : fail('not a list');
};

type Method = (self: unknown, args: readonly unknown[]) => unknown;

const methods: Readonly<Record<string, Method>> = {
  size: (self) => (typeof self === 'string' ? codePoints(self) : list(self).length),
  matches: (self, [pattern]) => new RegExp(text(pattern), 'u').test(text(self)),
  contains: (self, [part]) => text(self).includes(text(part)),
  startsWith: (self, [part]) => text(self).startsWith(text(part)),
  endsWith: (self, [part]) => text(self).endsWith(text(part)),
  compareTo: (self, [other]) =>
    self instanceof Quantity && other instanceof Quantity
      ? Math.sign((parseBytes(self.text) ?? Number.NaN) - (parseBytes(other.text) ?? Number.NaN))
      : fail('not a quantity'),
};

const functions: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> = {
  size: (value) => methods['size']?.(value, []),
  quantity: (value) => new Quantity(text(value)),
  string: (value) => String(value),
};

type Macro = (items: unknown[], test: (item: unknown) => unknown) => unknown;

const macros: Readonly<Record<string, Macro>> = {
  all: (items, test) => items.every((item) => truth(test(item))),
  exists: (items, test) => items.some((item) => truth(test(item))),
  exists_one: (items, test) => items.filter((item) => truth(test(item))).length === 1,
  filter: (items, test) => items.filter((item) => truth(test(item))),
  map: (items, test) => items.map(test),
};

type Operator = (a: Expression, b: Expression) => Expression;

const ordered =
  (test: (a: string | number, b: string | number) => boolean): Operator =>
  (a, b) =>
  (scope) => {
    const [left, right] = [a(scope), b(scope)];
    if (typeof left === 'number' && typeof right === 'number') return test(left, right);
    return test(text(left), text(right));
  };

const operators: readonly Readonly<Record<string, Operator>>[] = [
  { '||': (a, b) => (scope) => truth(a(scope)) || truth(b(scope)) },
  { '&&': (a, b) => (scope) => truth(a(scope)) && truth(b(scope)) },
  {
    '==': (a, b) => (scope) => isDeepStrictEqual(a(scope), b(scope)),
    '!=': (a, b) => (scope) => !isDeepStrictEqual(a(scope), b(scope)),
    '<': ordered((a, b) => a < b),
    '<=': ordered((a, b) => a <= b),
    '>': ordered((a, b) => a > b),
    '>=': ordered((a, b) => a >= b),
    in: (a, b) => (scope) => {
      const value = a(scope);
      return list(b(scope)).some((item) => isDeepStrictEqual(item, value));
    },
  },
  {
    '+': (a, b) => (scope) => {
      const [left, right] = [a(scope), b(scope)];
      return typeof left === 'number' && typeof right === 'number' ? left + right : text(left) + text(right);
    },
  },
];

/**
 * A rule in the part of CEL that the platform's definitions use: fields, indexes, comparisons, `has`, the list macros,
 * strings and quantities. https://github.com/google/cel-spec/blob/master/doc/langdef.md
 * @throws Error for anything else
 */
export function compileRule(rule: string): CompiledRule {
  const tokens = tokensOf(rule);
  const parser = new Parser(tokens, rule);
  const expression = parser.whole();
  return {
    transition: tokens.some(({ name }) => name === 'oldSelf'),
    holds(scope) {
      try {
        return expression(scope) === true;
      } catch (error) {
        if (error instanceof EvaluationError) return false;
        throw error;
      }
    },
  };
}

interface Token {
  number?: string;
  name?: string;
  text?: string;
  sign?: string;
}

function tokensOf(rule: string): Token[] {
  const tokens: Token[] = [];
  const pattern = new RegExp(tokenPattern);
  while (rule.slice(pattern.lastIndex).trim()) {
    const at = pattern.lastIndex;
    const found = pattern.exec(rule);
    if (!found?.groups) throw new Error(`cannot read the rule "${rule}" at ${at}`);
    tokens.push({ ...found.groups });
  }
  return tokens;
}

/** Recursive descent, one level of operators at a time; each method returns what evaluates the part that it read. */
class Parser {
  readonly #tokens: readonly Token[];
  readonly #rule: string;
  #at = 0;

  constructor(tokens: readonly Token[], rule: string) {
    this.#tokens = tokens;
    this.#rule = rule;
  }

  whole(): Expression {
    const expression = this.#conditional();
    return this.#at === this.#tokens.length ? expression : this.#unknown();
  }

  #conditional(): Expression {
    const test = this.#binary(0);
    if (!this.#take('?')) return test;
    const yes = this.#binary(0);
    this.#expect(':');
    const no = this.#conditional();
    return (scope) => (truth(test(scope)) ? yes(scope) : no(scope));
  }

  #binary(level: number): Expression {
    const known = operators[level];
    if (!known) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const { sign, name } = this.#tokens[this.#at] ?? {};
      const operator = known[sign ?? name ?? ''];
      if (!operator) return left;
      this.#at += 1;
      left = operator(left, this.#binary(level + 1));
    }
  }

  #unary(): Expression {
    if (this.#take('!')) {
      const operand = this.#unary();
      return (scope) => !truth(operand(scope));
    }
    if (this.#take('-')) {
      const operand = this.#unary();
      return (scope) => -Number(operand(scope));
    }
    return this.#member();
  }

  #member(): Expression {
    let value = this.#primary();
    for (;;) {
      const target = value;
      if (this.#take('.')) {
        const name = this.#name();
        value = this.#take('(') ? this.#call(target, name) : (scope) => field(target(scope), name);
      } else if (this.#take('[')) {
        const index = this.#conditional();
        this.#expect(']');
        value = (scope) => field(target(scope), String(index(scope)));
      } else return value;
    }
  }

  #call(target: Expression, name: string): Expression {
    const macro = macros[name];
    if (macro) {
      const variable = this.#name();
      this.#expect(',');
      const body = this.#conditional();
      this.#expect(')');
      return (scope) => macro(list(target(scope)), (item) => body({ ...scope, [variable]: item }));
    }
    const method = methods[name] ?? this.#unknown(name);
    const args = this.#arguments();
    return (scope) =>
      method(
        target(scope),
        args.map((argument) => argument(scope)),
      );
  }

  #primary(): Expression {
    const token = this.#tokens[this.#at++] ?? {};
    if (token.sign === '(') {
      const inner = this.#conditional();
      this.#expect(')');
      return inner;
    }
    if (token.sign === '[') {
      const items = this.#arguments(']');
      return (scope) => items.map((item) => item(scope));
    }
    const { number, text: literal, name } = token;
    if (number !== undefined) return () => Number(number);
    if (literal !== undefined) {
      const value = literal.slice(1, -1).replaceAll(/\\(.)/g, '$1');
      return () => value;
    }
    if (name === undefined) return this.#unknown();
    if (name === 'true' || name === 'false') return () => name === 'true';
    if (!this.#take('(')) return (scope) => (name in scope ? scope[name] : fail(`no such name: ${name}`));
    if (name === 'has') return this.#has();
    const called = functions[name] ?? this.#unknown(name);
    const args = this.#arguments();
    return (scope) => called(...args.map((argument) => argument(scope)));
  }

  /** `has(a.b)` asks for the last field only: that `a` is missing is an error. */
  #has(): Expression {
    const inner = this.#conditional();
    this.#expect(')');
    return (scope) => {
      try {
        return inner(scope) !== undefined;
      } catch (error) {
        if (error instanceof EvaluationError) return false;
        throw error;
      }
    };
  }

  #arguments(end = ')'): Expression[] {
    const args: Expression[] = [];
    while (!this.#take(end)) {
      if (args.length > 0) this.#expect(',');
      args.push(this.#conditional());
    }
    return args;
  }

  #name(): string {
    return this.#tokens[this.#at++]?.name ?? this.#unknown();
  }

  #take(sign: string): boolean {
    if (this.#tokens[this.#at]?.sign !== sign) return false;
    this.#at += 1;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) this.#unknown(`"${sign}" expected`);
  }

  #unknown(what = 'not understood'): never {
    throw new Error(`the rule "${this.#rule}": ${what}, near token ${this.#at}`);
  }
}

function field(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return (value as unknown[])[Number(name)] ?? fail(`index out of bounds: ${name}`);
  const found = isJson(value) ? value[name] : undefined;
  return found === undefined ? fail(`no such key: ${name}`) : found;
}
