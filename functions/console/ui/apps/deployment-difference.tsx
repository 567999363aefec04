import { useId } from 'react';
import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import { appText } from '../text/apps.ts';
import { differencesOf } from './difference.ts';

const words = appText.differences;

interface DeploymentDifferenceProps {
  before: DeploymentView & { revision: number };
  after: DeploymentView & { revision: number };
}

/** What differs between a deployment and the one that the app ran before it. */
export function DeploymentDifference({ before, after }: DeploymentDifferenceProps) {
  const id = useId();
  const differences = differencesOf(before, after);
  const { withConfig, rollbackOf } = after;
  return (
    <section
      aria-labelledby={id}
      className="mt-3 flex flex-col gap-2 rounded-md bg-zinc-100 p-3 text-sm dark:bg-zinc-900"
    >
      <h3 id={id} className="font-semibold">
        {words.title(after.revision, before.revision)}
      </h3>
      {differences.length === 0 && <p>{words.same}</p>}
      <ul className="flex flex-col gap-2">
        {differences.map(({ field, before: old, after: next }) => (
          <li key={field}>
            {words.fields[field]}
            <div className="font-mono text-xs break-all whitespace-pre-wrap">
              {old !== undefined && <del className="block">{`- ${old}`}</del>}
              {next !== undefined && <ins className="block no-underline">{`+ ${next}`}</ins>}
            </div>
          </li>
        ))}
      </ul>
      {withConfig && rollbackOf !== undefined && <p>{words.restored(rollbackOf)}</p>}
      <p className="text-zinc-700 dark:text-zinc-300">{words.notCompared}</p>
    </section>
  );
}
