import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { commandOf, placeFlags } from '../api/command.ts';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Command } from '../parts/command.tsx';
import { Field } from '../parts/field.tsx';
import { functionText } from '../text/functions.ts';
import { viewQuery } from '../workloads/queries.ts';
import { useFunction } from './function.tsx';

const words = functionText.invoke;
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((value) => ({ value }));

/**
 * A request to a function, as a command. The page cannot send it: the function is of another origin, to which the policy
 * of the console allows no connection.
 */
export function FunctionInvoke() {
  const { place, name } = useFunction();
  const { data: view } = useQuery(viewQuery(useFunction()));
  const [method, setMethod] = useState('GET');
  const [path, setPath] = useState('/');
  const [headers, setHeaders] = useState('');
  const [body, setBody] = useState('');
  if (view?.url === undefined) return <p className="text-sm">{words.noUrl}</p>;
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  const command = commandOf(
    ...['function', 'invoke', name, '--method', method, '--path', path],
    ...lines.flatMap((line) => ['--header', line.trim()]),
    // In one word, because a body can begin with a dash. `@` would stand for a file of the machine.
    ...(body === '' ? [] : [`--data=${body}`]),
    ...placeFlags(place),
  );
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <p className="text-sm">{words.hint}</p>
      <Select
        label={words.method}
        value={method}
        onChange={(event) => setMethod(event.target.value)}
        options={methods}
      />
      <Field label={words.path} value={path} onChange={(event) => setPath(event.target.value)} spellCheck={false} />
      <Area label={words.headers} value={headers} onChange={(event) => setHeaders(event.target.value)} rows={2} />
      <Area label={words.body} value={body} onChange={(event) => setBody(event.target.value)} />
      <Command command={command} />
    </div>
  );
}
