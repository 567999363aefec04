import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMay } from '../api/role.ts';
import { functionText } from '../text/functions.ts';
import { DangerZone } from '../workloads/danger.tsx';
import { viewQuery } from '../workloads/queries.ts';
import { EditFunction } from './edit-function.tsx';
import { useFunction } from './function.tsx';
import { offerOf } from './offered.ts';

const words = functionText.settings;

/** Changes or deletes a function. */
export function FunctionSettings() {
  const workload = useFunction();
  const navigate = useNavigate();
  const { offer } = useSearch({
    from: '/frame/projects/$project/environments/$environment/functions/$function/settings',
  });
  const mayDelete = useMay(workload.place.project, 'deployer');
  const { data: view } = useQuery(viewQuery(workload));
  if (!mayDelete) return <p className="text-sm">{words.viewer}</p>;
  return (
    <div className="flex flex-col gap-8">
      {view && (
        <section aria-labelledby="change" className="flex flex-col gap-3">
          <h2 id="change" className="text-lg font-semibold">
            {words.title}
          </h2>
          <EditFunction key={offer} workload={workload} view={view} offered={offerOf(offer)} />
        </section>
      )}
      <DangerZone
        workload={workload}
        effect={words.delete}
        discard={view?.events && words.discard}
        deleted={() => void navigate({ to: '/projects/$project/environments/$environment', params: workload.place })}
      />
    </div>
  );
}
