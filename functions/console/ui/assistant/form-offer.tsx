import { useQuery } from '@tanstack/react-query';
import { listQuery } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import type { Offered } from '../functions/offered.ts';
import { Button } from '../parts/button.tsx';
import { assistantText } from '../text/assistant.ts';
import { useFunctionForm } from './use-function-form.ts';

const words = assistantText.offers;

interface FormOfferProps {
  /** Where the user is: forms are those of an environment. */
  place: { project: string; environment?: string | undefined; function?: string | undefined };
  offered: Offered;
  followed: () => void;
}

/** Buttons that open a form with the code or the schedule of an answer. */
export function FormOffer({ place: { project, environment, function: name }, offered, followed }: FormOfferProps) {
  const may = useMay(project, 'deployer');
  const form = useFunctionForm(followed);
  const functions = useQuery({
    ...listQuery('functions', { project, environment: environment ?? '' }),
    enabled: environment !== undefined && name !== undefined,
  });
  if (!may || environment === undefined) return null;
  const place = { project, environment };
  const view = functions.data?.items.find((each) => each.name === name);
  // The language and the trigger of a function stay as they are.
  const fits =
    view !== undefined &&
    (offered.runtime === undefined || offered.runtime === view.runtime) &&
    (offered.code !== undefined || view.trigger === 'cron');
  const change = (of: string) => {
    const { runtime: _runtime, trigger: _trigger, schedule, ...values } = offered;
    form.change(place, of, { ...values, ...(view?.trigger === 'cron' && schedule !== undefined && { schedule }) });
  };
  return (
    <div className="flex flex-col gap-2">
      <p className="text-xs text-zinc-600 dark:text-zinc-400">{words.title}</p>
      <div className="flex flex-wrap gap-2">
        {fits && <Button onClick={() => change(view.name)}>{words.change(view.name)}</Button>}
        <Button onClick={() => form.create(place, offered)}>{words.create}</Button>
      </div>
    </div>
  );
}
