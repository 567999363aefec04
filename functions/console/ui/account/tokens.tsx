import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { TokenView } from '../../../../runtime/contracts/api/tokens.ts';
import { commandOf } from '../api/command.ts';
import { sessionQuery } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { accountText } from '../text/account.ts';
import { text } from '../text/common.ts';
import { tokensQuery } from './queries.ts';
import { CreateTokenDialog, NewTokenDialog, RevokeTokenDialog } from './token-dialogs.tsx';

const words = accountText.tokens;
const tones = { active: 'good', expired: 'bad', inactive: 'warn' } as const;

/** The access tokens of a project. Members revoke their own, admins of the project all of them. */
export function Tokens({ project }: { project: string }) {
  const email = useQuery(sessionQuery).data?.email;
  const isMember = useMay(project, 'viewer');
  const isAdmin = useMay(project, 'admin');
  const [creates, setCreates] = useState(false);
  // Held by this part alone, so that the token is gone with the dialog that shows it.
  const [created, setCreated] = useState<string>();
  const [revoked, setRevoked] = useState<TokenView>();
  return (
    <>
      {isMember && (
        <div>
          <Button look="primary" onClick={() => setCreates(true)}>
            {words.create}
          </Button>
        </div>
      )}
      <Loaded query={useQuery(tokensQuery(project))}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty
              title={words.empty}
              hint={words.emptyHint}
              command={commandOf('token', 'create', 'ci', '--scope', 'deploy', '--project', project)}
            />
          ) : (
            <>
              <TokenTable
                tokens={items}
                mayRevoke={({ createdBy }) => isAdmin || (isMember && createdBy === email)}
                revoke={setRevoked}
              />
              {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
              <Command command={commandOf('token', 'list', '--project', project)} />
            </>
          )
        }
      </Loaded>
      {creates && <CreateTokenDialog project={project} close={() => setCreates(false)} done={setCreated} />}
      {created !== undefined && <NewTokenDialog token={created} close={() => setCreated(undefined)} />}
      {revoked && <RevokeTokenDialog project={project} token={revoked} close={() => setRevoked(undefined)} />}
    </>
  );
}

interface TableProps {
  tokens: readonly TokenView[];
  mayRevoke: (token: TokenView) => boolean;
  revoke: (token: TokenView) => void;
}

function TokenTable({ tokens, mayRevoke, revoke }: TableProps) {
  const hasActions = tokens.some(mayRevoke);
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.name },
          { title: words.scopes, wide: true },
          { title: words.environment, wide: true },
          { title: words.status },
          { title: words.expires, wide: true },
          { title: words.lastUse },
          { title: words.createdBy, wide: true },
          ...(hasActions ? [{ title: words.actions }] : []),
        ]}
      />
      <tbody>
        {tokens.map((token) => (
          <tr key={token.id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium wrap-anywhere`}>
              {token.name}
            </th>
            <td className={wideCellLook}>{token.scopes.join(', ')}</td>
            <td className={wideCellLook}>{token.environment ?? words.allEnvironments}</td>
            <td className={cellLook}>
              <span title={token.status === 'inactive' ? words.inactive : undefined}>
                <Badge tone={tones[token.status]}>{words.states[token.status]}</Badge>
              </span>
            </td>
            <td className={wideCellLook}>{token.expiresAt.slice(0, 10)}</td>
            <td className={cellLook}>
              {token.lastUsedAt === undefined ? words.never : <Time at={token.lastUsedAt} />}
            </td>
            <td className={`${wideCellLook} wrap-anywhere`}>{token.createdBy}</td>
            {hasActions && (
              <td className={cellLook}>
                {mayRevoke(token) && (
                  <Button aria-label={words.revokeName(token.name)} onClick={() => revoke(token)}>
                    {words.revoke}
                  </Button>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
