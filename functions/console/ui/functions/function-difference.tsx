import { functionText } from '../text/functions.ts';
import { workloadText } from '../text/workloads.ts';
import type { Draft, DraftField } from './draft.ts';

const words = functionText.form;

interface FunctionDifferenceProps {
  /** Absent for a new function. */
  before?: Draft;
  after: Partial<Draft>;
  fields: readonly DraftField[];
}

/** What differs in the fields of a function. The API does not return the code that a function has. */
export function FunctionDifference({ before, after, fields }: FunctionDifferenceProps) {
  return (
    <ul aria-label={workloadText.variables.changes} className="flex max-h-96 flex-col gap-2 overflow-auto" tabIndex={0}>
      {fields.map((field) => {
        const old = field === 'code' ? before && words.oldCode : before?.[field];
        const next = after[field] ?? '';
        return (
          <li key={field}>
            <strong>{words.fields[field]}</strong>
            <div className="font-mono text-xs wrap-anywhere whitespace-pre-wrap">
              {old !== undefined && old !== '' && <del className="block">{linesOf('-', old)}</del>}
              {next !== '' && <ins className="block no-underline">{linesOf('+', next)}</ins>}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function linesOf(mark: string, value: string): string {
  return value
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `${mark} ${line}`)
    .join('\n');
}
