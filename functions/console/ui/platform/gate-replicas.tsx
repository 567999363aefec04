import { useQuery } from '@tanstack/react-query';
import type { GateStatus } from '../../../../runtime/contracts/api/gate.ts';
import { Badge } from '../parts/badge.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { platformText } from '../text/platform.ts';
import { gateStatusQuery } from './queries.ts';
import { Section } from './section.tsx';

const words = platformText.status.gate;
const tones = { loading: 'busy', current: 'good', behind: 'warn', silent: 'bad' } as const;

/** The replicas of the checker, and whether each knows the newest keys and plans. */
export function GateReplicas() {
  return (
    <Section title={words.title}>
      <Loaded query={useQuery(gateStatusQuery)}>
        {({ version, replicas }) =>
          replicas.length === 0 ? (
            <Note look="warn">{words.none}</Note>
          ) : (
            <>
              <p className="text-sm">{words.hint(version)}</p>
              <ReplicaTable replicas={replicas} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function ReplicaTable({ replicas }: Pick<GateStatus, 'replicas'>) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.name },
          { title: platformText.status.status },
          { title: words.applied, wide: true },
          { title: words.seen },
          { title: words.started, wide: true },
        ]}
      />
      <tbody>
        {replicas.map(({ name, state, applied, behind = 0, sharesRates, seenAt, startedAt }) => (
          <tr key={name} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              {name}
            </th>
            <td className={cellLook}>
              <Badge tone={tones[state]}>{words.states[state]}</Badge>{' '}
              {sharesRates === false && <Badge tone="warn">{words.localRates}</Badge>}
            </td>
            <td className={wideCellLook}>
              {applied ?? text.none} {behind > 0 && `(${words.behind(behind)})`}
            </td>
            <td className={cellLook}>
              <Time at={seenAt} />
            </td>
            <td className={wideCellLook}>
              <Time at={startedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
