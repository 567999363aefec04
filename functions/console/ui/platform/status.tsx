import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ControllerHealth } from '../../../../runtime/contracts/api/health.ts';
import type { PlatformStatus } from '../../../../runtime/contracts/api/platform.ts';
import { componentNames } from '../../../../runtime/domain/monitoring.ts';
import { commandOf } from '../api/command.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { platformText } from '../text/platform.ts';
import { DisableDialog, EnableDialog, ResizeDialog } from './component-dialogs.tsx';
import { GateReplicas } from './gate-replicas.tsx';
import { controllersQuery, statusQuery } from './queries.ts';
import { Section } from './section.tsx';

const words = platformText.status;
const tones = { on: 'good', starting: 'busy', unhealthy: 'bad', stopping: 'warn', disabled: 'quiet' } as const;

type Component = PlatformStatus['components'][number];

/** What an admin is about to do with a component. */
interface Choice {
  action: 'enable' | 'disable' | 'resize';
  name: string;
  memory?: string | undefined;
}

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
  const [choice, setChoice] = useState<Choice>();
  const close = () => setChoice(undefined);
  return (
    <>
      <Section title={words.processes}>
        <ComponentTable components={components.filter((component) => !isMonitoring(component))} />
      </Section>
      {monitoring.length > 0 && (
        <Section title={words.monitoring}>
          <ComponentTable choose={setChoice} components={monitoring} />
        </Section>
      )}
      <Command command={commandOf('platform', 'status')} />
      {choice?.action === 'enable' && <EnableDialog name={choice.name} close={close} />}
      {choice?.action === 'disable' && <DisableDialog name={choice.name} close={close} />}
      {choice?.action === 'resize' && <ResizeDialog name={choice.name} memory={choice.memory} close={close} />}
    </>
  );
}

interface TableProps {
  components: readonly Component[];
  /** For components that an admin can change. */
  choose?: (choice: Choice) => void;
}

function ComponentTable({ components, choose }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.component },
          { title: words.status },
          ...(choose ? [{ title: words.memory, wide: true }] : []),
          { title: words.detail },
          ...(choose ? [{ title: words.actions }] : []),
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
            {choose && <td className={wideCellLook}>{component.memory ?? text.none}</td>}
            <td className={cellLook}>{remarksOf(component)}</td>
            {choose && (
              <td className={cellLook}>
                <Actions component={component} choose={choose} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Actions({ component, choose }: { component: Component; choose: (choice: Choice) => void }) {
  const { name, status, memory } = component;
  const isOff = status === 'disabled' || status === 'stopping';
  return (
    <span className="flex flex-wrap gap-2">
      {isOff ? (
        <Button aria-label={words.enableName(name)} onClick={() => choose({ action: 'enable', name })}>
          {words.enable}
        </Button>
      ) : (
        <Button aria-label={words.disableName(name)} onClick={() => choose({ action: 'disable', name })}>
          {words.disable}
        </Button>
      )}
      <Button aria-label={words.resizeName(name)} onClick={() => choose({ action: 'resize', name, memory })}>
        {words.resize}
      </Button>
    </span>
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
