import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
/** The part of a request that is validated. */
export type RequestPart = 'params' | 'query' | 'body';

const partNames: Readonly<Record<RequestPart, string>> = {
  params: 'the path parameter ',
  query: 'the query parameter ',
  body: '',
};

/** A fault of a request as a clause, such as `healthPath must start with "/"`. It never quotes the value. */
export function issueText(part: RequestPart, issue: Issue): string {
  const path = issue.path.map(String).join('.');
  const field = path === '' ? (part === 'body' ? 'the body' : `the ${part}`) : partNames[part] + path;
  return `${field} ${rule(issue)}`;
}

/** What the value must be, after the name of its field. */
export function rule(issue: Issue): string {
  // A schema's own message is such a clause.
  if (!/^(Invalid|Too (big|small)|Unrecognized)\b/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined') ? 'is missing' : `must be ${typeName(issue.expected)}`;
    case 'too_small':
      return `must ${amount(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must ${amount(issue.origin, 'at most', issue.maximum)}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'unrecognized_keys':
      return `has no field ${issue.keys.map((key) => JSON.stringify(key)).join(' and no field ')}`;
    case 'invalid_format':
      return formatRule(issue);
    case 'invalid_union':
      return 'has none of the forms that it may have';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_key':
      break;
  }
  return 'is not valid';
}

function formatRule({ format, ...issue }: z.core.$ZodIssueInvalidStringFormat): string {
  if (format === 'starts_with' && 'prefix' in issue) return `must start with ${JSON.stringify(issue.prefix)}`;
  if (format === 'regex') return 'does not have the form that it must have';
  if (format === 'datetime') return 'must be a time such as 2027-01-31T12:00:00Z';
  return `must be a valid ${format.toUpperCase()}`;
}

const typeNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function typeName(expected: string): string {
  return typeNames[expected] ?? `a ${expected}`;
}

function amount(origin: string, bound: string, count: number | bigint): string {
  if (origin === 'string') return `have ${bound} ${count} characters`;
  if (origin === 'array') return `have ${bound} ${count} items`;
  return `be ${bound} ${count}`;
}
