import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { AlertView, SilenceView } from '../../../../runtime/contracts/api/alerts.ts';
import { commandOf } from '../api/command.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, rowLook, wideCellLook, wordLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { platformText } from '../text/platform.ts';
import { EndSilenceDialog, SilenceDialog, type Silenced } from './alert-dialogs.tsx';
import { labelLines } from './labels.ts';
import { alertsQuery, silencesQuery } from './queries.ts';
import { Section } from './section.tsx';

const words = platformText.alerts;
const subscribeCommand = commandOf(
  ...['platform', 'notification', 'create', 'ops', '--url', 'https://hooks.example.com/svc'],
);

/** The alerts that fire, and the silences. */
export function Alerts() {
  const [silenced, setSilenced] = useState<Silenced>();
  const [ended, setEnded] = useState<SilenceView>();
  return (
    <div className="flex flex-col gap-8">
      <Section title={platformText.tabs.alerts}>
        <Loaded query={useQuery(alertsQuery)}>
          {({ items, truncated }) =>
            items.length === 0 ? (
              <Empty title={words.none} hint={words.noneHint} command={subscribeCommand} />
            ) : (
              <>
                <AlertTable alerts={items} silence={setSilenced} />
                {truncated && <p className="text-sm">{words.truncated}</p>}
                <Command command={commandOf('platform', 'alerts', 'list')} />
              </>
            )
          }
        </Loaded>
      </Section>
      <Section title={words.silences}>
        <p className="text-sm">{words.silenceWhat}</p>
        <div>
          <Button onClick={() => setSilenced({ alert: '', labels: {} })}>{words.silenceAny}</Button>
        </div>
        <Loaded query={useQuery(silencesQuery)}>
          {({ items }) =>
            items.length === 0 ? (
              <p className="text-sm">{words.noSilences}</p>
            ) : (
              <SilenceTable silences={items} end={setEnded} />
            )
          }
        </Loaded>
        <Command command={commandOf('platform', 'alerts', 'silences')} />
      </Section>
      {silenced && <SilenceDialog silenced={silenced} close={() => setSilenced(undefined)} />}
      {ended && <EndSilenceDialog silence={ended} close={() => setEnded(undefined)} />}
    </div>
  );
}

function AlertTable({ alerts, silence }: { alerts: readonly AlertView[]; silence: (silenced: Silenced) => void }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.alert },
          { title: words.severity, wide: true },
          { title: words.scope, wide: true },
          { title: words.state },
          { title: words.since, wide: true },
          { title: words.actions },
        ]}
      />
      <tbody>
        {alerts.map((alert) => (
          <tr key={alert.id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-normal`}>
              <AlertText alert={alert} />
            </th>
            <td className={`${wideCellLook} ${wordLook}`}>{alert.severity}</td>
            <td className={`${wideCellLook} ${wordLook}`}>{words.scopes[alert.scope]}</td>
            <td className={cellLook}>
              <Badge tone={alert.state === 'silenced' ? 'quiet' : alert.severity === 'critical' ? 'bad' : 'warn'}>
                {words.states[alert.state]}
              </Badge>
            </td>
            <td className={wideCellLook}>
              <Time at={alert.startsAt} />
            </td>
            <td className={cellLook}>
              {alert.state === 'firing' && (
                <Button
                  aria-label={words.silenceName(alert.name)}
                  onClick={() => silence({ alert: alert.name, labels: alert.labels })}
                >
                  {words.silence}
                </Button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function AlertText({ alert: { name, summary, description, labels, details } }: { alert: AlertView }) {
  return (
    <div className="flex flex-col gap-1">
      <span className="font-medium">{name}</span>
      <span>{summary}</span>
      {description !== undefined && <span className="text-zinc-600 dark:text-zinc-400">{description}</span>}
      {[...labelLines(labels), ...labelLines(details)].map((line) => (
        <code key={line} className="text-xs">
          {line}
        </code>
      ))}
    </div>
  );
}

function SilenceTable({ silences, end }: { silences: readonly SilenceView[]; end: (silence: SilenceView) => void }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.alert },
          { title: words.labels, wide: true },
          { title: words.comment },
          { title: words.by, wide: true },
          { title: words.ends, wide: true },
          { title: words.actions },
        ]}
      />
      <tbody>
        {silences.map((silence) => (
          <tr key={silence.id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              {silence.alert}
            </th>
            <td className={wideCellLook}>{labelLines(silence.labels).join(' ') || words.allLabels}</td>
            <td className={cellLook}>{silence.comment}</td>
            <td className={wideCellLook}>{silence.createdBy}</td>
            <td className={wideCellLook}>
              <Time at={silence.endsAt} />
            </td>
            <td className={cellLook}>
              <Button aria-label={words.endName(silence.alert)} onClick={() => end(silence)}>
                {words.end}
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
