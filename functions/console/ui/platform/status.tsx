import { useQuery } from '@tanstack/react-query';
import type { ControllerHealth } from '../../../../runtime/contracts/api/health.ts';
import type { PlatformStatus } from '../../../../runtime/contracts/api/platform.ts';
import { componentNames } from '../../../../runtime/domain/monitoring.ts';
import { commandOf } from '../api/command.ts';
import { Badge } from '../parts/badge.tsx';
import { Command } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { platformText } from '../text/platform.ts';
import { GateReplicas } from './gate-replicas.tsx';
import { controllersQuery, statusQuery } from './queries.ts';
import { Section } from './section.tsx';

const words = platformText.status;
const tones = { on: 'good', starting: 'busy', unhealthy: 'bad', stopping: 'warn', disabled: 'quiet' } as const;

type Component = PlatformStatus['components'][number];

/** Whether the platform works, part by part. */
export function Status() {
  return (
    <div className="flex flex-col gap-8">
      <Loaded query={useQuery(statusQuery)}>
        {(status) => (
          <>
            <Summary status={status} />
            <Components components={status.components} />
          </>
        )}
      </Loaded>
      <Section title={words.controllers.title}>
        <Loaded query={useQuery(controllersQuery)}>{(health) => <Controllers health={health} />}</Loaded>
      </Section>
      <GateReplicas />
      <Section title={words.nodes.title}>
        <Loaded query={useQuery(statusQuery)}>{({ nodes = [] }) => <Nodes nodes={nodes} />}</Loaded>
      </Section>
    </div>
  );
}

function Summary({ status: { version, cluster, appsDomain, components, nodes = [] } }: { status: PlatformStatus }) {
  const unhealthy = [
    ...components.filter(({ status }) => status === 'unhealthy').map(({ name }) => name),
    ...nodes.filter(({ ready }) => !ready).map(({ name }) => name),
  ];
  return (
    <div className="flex flex-col gap-4">
      {unhealthy.length > 0 ? (
        <Note look="bad">{words.unhealthy(unhealthy.join(', '))}</Note>
      ) : (
        <Note look="good">{words.healthy}</Note>
      )}
      <Facts
        facts={[
          [words.version, version],
          [words.cluster, cluster],
          [words.appsDomain, appsDomain],
        ]}
      />
      <Command command={commandOf('status')} />
    </div>
  );
}

/** Whether a component belongs to monitoring, and an admin can enable, disable and resize it. */
const isMonitoring = ({ name }: Component) => componentNames.some((known) => known === name);

function Components({ components }: { components: readonly Component[] }) {
  const monitoring = components.filter(isMonitoring);
  return (
    <>
      <Section title={words.processes}>
        <ComponentTable components={components.filter((component) => !isMonitoring(component))} />
      </Section>
      {monitoring.length > 0 && (
        <Section title={words.monitoring}>
          <ComponentTable sized components={monitoring} />
        </Section>
      )}
      <Command command={commandOf('platform', 'status')} />
    </>
  );
}

function ComponentTable({ components, sized = false }: { components: readonly Component[]; sized?: boolean }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.component },
          { title: words.status },
          ...(sized ? [{ title: words.memory, wide: true }] : []),
          { title: words.detail },
        ]}
      />
      <tbody>
        {components.map((component) => (
          <tr key={component.name} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium whitespace-nowrap`}>
              {component.name}
            </th>
            <td className={cellLook}>
              <Badge tone={tones[component.status]}>{component.status}</Badge>
            </td>
            {sized && <td className={wideCellLook}>{component.memory ?? text.none}</td>}
            <td className={cellLook}>{remarksOf(component)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The message of a component, and the history of its memory limit. */
function remarksOf({ message, raised, notRaised }: Component): string {
  const remarks = [
    message,
    notRaised && words.notRaised[notRaised],
    raised && words.raised(raised.from, raised.to, raised.reason),
  ];
  return remarks.filter((remark) => remark !== undefined).join(' ') || text.none;
}

function Controllers({ health: { managerStarted, cacheSynced, controllers } }: { health: ControllerHealth }) {
  const { name, registered, missing, stopped, unsynced } = words.controllers;
  return (
    <>
      {!managerStarted && <Note look="bad">{stopped}</Note>}
      {managerStarted && !cacheSynced && <Note look="warn">{unsynced}</Note>}
      {controllers.length > 0 && (
        <table className="w-full text-sm">
          <Cells heads={[{ title: name }, { title: words.status }]} />
          <tbody>
            {controllers.map((controller) => (
              <tr key={controller.name} className={rowLook}>
                <th scope="row" className={`${cellLook} text-left font-medium`}>
                  {controller.name}
                </th>
                <td className={cellLook}>
                  <Badge tone={controller.registered ? 'good' : 'bad'}>
                    {controller.registered ? registered : missing}
                  </Badge>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function Nodes({ nodes }: { nodes: NonNullable<PlatformStatus['nodes']> }) {
  if (nodes.length === 0) return <p className="text-sm">{words.nodes.none}</p>;
  return (
    <table className="w-full text-sm">
      <Cells heads={[{ title: words.nodes.name }, { title: words.status }, { title: words.nodes.addresses }]} />
      <tbody>
        {nodes.map(({ name, ready, addresses }) => (
          <tr key={name} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              {name}
            </th>
            <td className={cellLook}>
              <Badge tone={ready ? 'good' : 'bad'}>{ready ? words.nodes.ready : words.nodes.notReady}</Badge>
            </td>
            <td className={cellLook}>{addresses.join(', ')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
