import { revisionView, type RevisionDifference } from '../contracts/api/revisions.ts';

/**
 * A revision as a tool shows it: without the values of variables, neither its own nor those that differ from another
 * revision. Values of secrets are in no reply of the API. Pure. @throws ZodError for a reply of another form
 */
export function revisionWithoutValues(body: unknown): unknown {
  const { variables, comparison, ...rest } = revisionView.parse(body);
  return {
    ...rest,
    // As those of a workload, whose values are hidden.
    ...(variables && { variables: Object.fromEntries(variables.map(({ name }) => [name, null])) }),
    ...(comparison && { comparison: { ...comparison, differences: comparison.differences.map(withoutValues) } }),
  };
}

function withoutValues({ before, after, ...difference }: RevisionDifference): RevisionDifference {
  const isHidden = difference.kind === 'variable' || difference.kind === 'secret';
  if (isHidden) return difference;
  return { ...difference, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}
