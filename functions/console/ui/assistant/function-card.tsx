import { useQuery } from '@tanstack/react-query';
import type { Place } from '../api/queries.ts';
import { useMay, useMayNot } from '../api/role.ts';
import { changedFields, draftOf, fieldsWithText } from '../functions/draft.ts';
import { FunctionDifference } from '../functions/function-difference.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { assistantText } from '../text/assistant.ts';
import { viewQuery } from '../workloads/queries.ts';
import type { FormOperation } from './prepared-form.ts';
import { useFunctionForm } from './use-function-form.ts';

const words = assistantText.prepared;

interface FunctionCardProps {
  project: string;
  /** Undefined when the request does not say which. */
  environment: string | undefined;
  operation: FormOperation;
  command: string;
  followed: () => void;
}

/** A prepared function with what differs, and the button that opens its form. The panel sends nothing of it. */
export function FunctionCard({ project, environment, operation, command, followed }: FunctionCardProps) {
  const { kind, name, values } = operation;
  const may = useMay(project, 'deployer');
  const mayNot = useMayNot(project, 'deployer');
  const form = useFunctionForm(followed);
  const place = environment === undefined ? undefined : { project, environment };
  return (
    <>
      {kind === 'create' && <FunctionDifference after={values} fields={fieldsWithText(values)} />}
      {kind === 'code' && place && <CodeDifference place={place} operation={operation} />}
      <details>
        <summary>{words.command}</summary>
        <Command command={command} />
      </details>
      {may && !place && <p>{words.noEnvironment}</p>}
      {may && place && (
        <div>
          <Button
            look="primary"
            onClick={() => (kind === 'create' ? form.create(place, values) : form.change(place, name, values))}
          >
            {words.openForm(name)}
          </Button>
        </div>
      )}
      {mayNot && <p>{words.mayNot}</p>}
    </>
  );
}

function CodeDifference({ place, operation: { name, values } }: { place: Place; operation: FormOperation }) {
  return (
    <Loaded query={useQuery(viewQuery({ place, kind: 'function', name }))}>
      {(view) => {
        const before = draftOf(view);
        const after = { ...before, ...values };
        if (view.runtime === undefined) return <p>{words.runsImage(name)}</p>;
        return <FunctionDifference before={before} after={after} fields={changedFields(before, after)} />;
      }}
    </Loaded>
  );
}
