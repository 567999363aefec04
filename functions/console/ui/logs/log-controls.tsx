import { useId, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { logText } from '../text/logs.ts';
import { ranges, type LogSearch, type RangeName } from './search.ts';

const selectLook =
  'max-w-52 rounded-md border border-zinc-400 bg-white px-2 py-1.5 dark:border-zinc-600 dark:bg-zinc-900';

interface LogControlsProps {
  search: LogSearch;
  change: (change: Partial<LogSearch>) => void;
  pods: readonly string[];
  matches: { number: number; count: number } | undefined;
  step: (by: 1 | -1) => void;
}

/** What of a log is shown, and how. */
export function LogControls({ search, change, pods, matches, step }: LogControlsProps) {
  const id = useId();
  const { since = '1h', level = '', pod = '', q = '', nowrap, nofollow } = search;
  // The address follows what is typed, and the field follows the address only when that changes by itself.
  const [typed, setTyped] = useState({ text: q, address: q });
  if (typed.address !== q) setTyped({ text: typed.text === q ? typed.text : q, address: q });
  return (
    <div role="search" className="flex flex-wrap items-end gap-3 text-sm">
      <Select
        label={logText.range}
        value={since}
        options={Object.keys(ranges).map((value) => ({ value, label: logText.ranges[value as RangeName] }))}
        className={selectLook}
        onChange={({ target }) => change({ since: target.value as RangeName, at: undefined })}
      />
      <Select
        label={logText.level}
        value={level}
        options={Object.entries(logText.levels).map(([name, label]) => ({ value: name === 'all' ? '' : name, label }))}
        className={selectLook}
        onChange={({ target }) => change({ level: (target.value || undefined) as LogSearch['level'] })}
      />
      <Select
        label={logText.pod}
        value={pod}
        options={[{ value: '', label: logText.allPods }, ...pods.map((value) => ({ value }))]}
        className={selectLook}
        onChange={({ target }) => change({ pod: target.value || undefined })}
      />
      <div className="min-w-48 flex-1">
        <label htmlFor={id} className="mb-1 block font-medium">
          {logText.search}
        </label>
        <input
          id={id}
          type="search"
          value={typed.text}
          maxLength={200}
          onChange={({ target }) => {
            setTyped({ text: target.value, address: q });
            change({ q: target.value || undefined });
          }}
          onKeyDown={({ key, shiftKey }) => {
            if (key === 'Enter' && matches) step(shiftKey ? -1 : 1);
          }}
          className="w-full rounded-md border border-zinc-400 bg-white px-3 py-1.5 dark:border-zinc-600 dark:bg-zinc-900"
        />
      </div>
      {matches && (
        <div className="flex items-center gap-2">
          <span role="status">{logText.matches(matches.number, matches.count)}</span>
          <Button disabled={matches.count === 0} aria-label={logText.previous} onClick={() => step(-1)}>
            ↑
          </Button>
          <Button disabled={matches.count === 0} aria-label={logText.next} onClick={() => step(1)}>
            ↓
          </Button>
        </div>
      )}
      <Check label={logText.wrap} isOn={!nowrap} set={(isOn) => change({ nowrap: isOn ? undefined : true })} />
      <Check label={logText.follow} isOn={!nofollow} set={(isOn) => change({ nofollow: isOn ? undefined : true })} />
    </div>
  );
}

function Check({ label, isOn, set }: { label: string; isOn: boolean; set: (isOn: boolean) => void }) {
  return (
    <label className="flex items-center gap-1.5 py-1.5">
      <input type="checkbox" checked={isOn} onChange={({ target }) => set(target.checked)} />
      {label}
    </label>
  );
}
