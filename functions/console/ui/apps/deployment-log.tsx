import { useQuery } from '@tanstack/react-query';
import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import { hasEnded } from '../../../../runtime/domain/deployment.ts';
import { commandOf } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { LogText } from '../logs/log-text.tsx';
import { Command } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { appText } from '../text/apps.ts';
import { deploymentLogQuery } from './queries.ts';

const words = appText.deployments;

interface DeploymentLogProps {
  place: Place;
  deployment: DeploymentView;
  title: string;
}

/** The log of a deployment: of its build, and of its pods that still exist or that failed it. */
export function DeploymentLog({ place, deployment: { id, status }, title }: DeploymentLogProps) {
  return (
    <section aria-label={title} className="mt-3 flex flex-col gap-2 text-sm">
      <Loaded query={useQuery(deploymentLogQuery(place, id, !hasEnded(status)))}>
        {({ build, pods }) => (
          <>
            {build === undefined && pods.length === 0 && <p>{words.noLog}</p>}
            {build && <Part title={words.buildLog} log={build.text} truncated={build.truncated} />}
            {pods.map(({ name, log = '', truncated }) => (
              <Part key={name} title={words.podLog(name)} log={log} truncated={truncated === true} />
            ))}
          </>
        )}
      </Loaded>
      <Command command={commandOf('deployment', 'logs', id, '--project', place.project)} />
    </section>
  );
}

function Part({ title, log, truncated }: { title: string; log: string; truncated: boolean }) {
  return (
    <div>
      <h3 className="mb-1 font-semibold">{title}</h3>
      {truncated && <p className="mb-1">{words.truncated}</p>}
      <LogText label={title} text={log} empty={words.noOutput} />
    </div>
  );
}
