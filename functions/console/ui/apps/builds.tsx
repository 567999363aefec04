import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { BuildView } from '../../../../runtime/contracts/api/git.ts';
import { commandOf } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { LogText } from '../logs/log-text.tsx';
import { State } from '../parts/badge.tsx';
import { Command } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { text } from '../text/common.ts';
import { appRoute } from './app.tsx';
import { buildLogQuery, buildsQuery } from './queries.ts';

const words = appSettingsText.builds;
const page = '/projects/$project/environments/$environment/apps/$app/git';

interface AppProps {
  place: Place;
  app: string;
}

/** The newest builds of an app. The log of one is shown while it is written. */
export function Builds({ place, app }: AppProps) {
  const { build } = useSearch({ from: `${appRoute}/git` });
  return (
    <section aria-labelledby="builds" className="flex flex-col gap-4">
      <h2 id="builds" className="text-lg font-semibold">
        {words.title}
      </h2>
      {build !== undefined && <BuildLog key={build} place={place} deployment={build} />}
      <Loaded query={useQuery(buildsQuery(place))}>
        {({ items }) => {
          const builds = items.filter((item) => item.app === app);
          if (builds.length === 0) return <p className="text-sm">{words.empty}</p>;
          return (
            <>
              <BuildTable place={place} app={app} builds={builds} />
              <p className="text-sm">
                <Link
                  to="/projects/$project/environments/$environment/images"
                  params={place}
                  search={{ app }}
                  className={linkLook}
                >
                  {words.images}
                </Link>
              </p>
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function BuildTable({ place, app, builds }: AppProps & { builds: readonly BuildView[] }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.revision },
          { title: words.commit, wide: true },
          { title: words.status },
          { title: words.when },
          { title: words.reason, wide: true },
        ]}
      />
      <tbody>
        {builds.map(({ deploymentId, revision, commit, status, acceptedAt, reason }) => (
          <tr key={deploymentId} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left`}>
              <Link
                to={page}
                params={{ ...place, app }}
                search={{ build: deploymentId }}
                aria-label={words.log(revision)}
                className={linkLook}
              >
                {revision}
              </Link>
            </th>
            <td className={`${wideCellLook} font-mono`}>{commit?.slice(0, 12) ?? text.none}</td>
            <td className={cellLook}>
              <State state={status} />
            </td>
            <td className={cellLook}>
              <Time at={acceptedAt} />
            </td>
            <td className={wideCellLook}>{reason ?? text.none}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function BuildLog({ place, deployment }: { place: Place; deployment: string }) {
  return (
    <Loaded query={useQuery(buildLogQuery(place, deployment))}>
      {({ log, ended, truncated }) => (
        <div className="flex flex-col gap-2">
          <h3 className="text-sm font-semibold">{words.logTitle}</h3>
          {truncated && <p className="text-sm">{words.truncated}</p>}
          <LogText label={words.logTitle} text={log} empty={ended ? words.noOutput : ''} />
          <p role="status" className="text-sm">
            {!ended && words.building}
          </p>
          <Command command={commandOf('deployment', 'logs', deployment, '--project', place.project)} />
        </div>
      )}
    </Loaded>
  );
}
