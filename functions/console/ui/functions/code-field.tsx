import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react';
import { Area } from '../parts/area.tsx';
import { functionText } from '../text/functions.ts';
import type { CodeEditor, CodeLanguage, mountCodeEditor, Selection } from './code-editor.ts';

const words = functionText.code;

interface CodeFieldProps {
  label: string;
  value: string;
  change: (value: string) => void;
  language: CodeLanguage;
  isInvalid: boolean;
  isRequired: boolean;
}

/**
 * A field for code. It is a plain field until the editor is loaded, and stays one if that fails; what was written and
 * selected by then is kept.
 */
export function CodeField({ label, value, change, language, isInvalid, isRequired }: CodeFieldProps) {
  const host = useRef<HTMLDivElement>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const editor = useRef<CodeEditor>(undefined);
  const selection = useRef<Selection>(undefined);
  const [mountEditor, setMountEditor] = useState<typeof mountCodeEditor>();
  const [problems, setProblems] = useState<readonly number[]>([]);
  const isLoaded = mountEditor !== undefined;
  const onChange = useEffectEvent(change);
  const mount = useEffectEvent((mountIn: typeof mountCodeEditor, element: HTMLElement) =>
    mountIn(element, {
      label,
      language,
      value,
      syntaxError: words.syntaxError,
      onChange: (next) => onChange(next),
      onProblems: setProblems,
    }),
  );

  useEffect(() => {
    let isGone = false;
    const load = async () => {
      // The plain field stays when the file cannot be loaded.
      const module = await import('./code-editor.ts').catch(() => undefined);
      if (isGone || !module) return;
      selection.current = selectionOf(plain.current);
      setMountEditor(() => module.mountCodeEditor);
    };
    void load();
    return () => {
      isGone = true;
    };
  }, []);
  // In the same step as the plain field leaves, so that there are never two fields or none.
  useLayoutEffect(() => {
    if (!mountEditor || !host.current) return undefined;
    const own = mount(mountEditor, host.current);
    editor.current = own;
    if (selection.current) own.focus(selection.current);
    return () => {
      own.destroy();
      editor.current = undefined;
    };
  }, [mountEditor]);
  // Before the next key: an effect that runs later would undo what was written meanwhile.
  useLayoutEffect(() => editor.current?.setValue(value), [value]);
  useEffect(() => editor.current?.setLanguage(language), [language]);
  useEffect(() => editor.current?.setInvalid(isInvalid), [isInvalid, mountEditor]);

  return (
    <div>
      {!isLoaded && (
        <Area
          ref={plain}
          label={label}
          value={value}
          onChange={(event) => change(event.target.value)}
          numbered
          rows={12}
          required={isRequired}
          aria-invalid={isInvalid}
        />
      )}
      {isLoaded && <p className="mb-1 text-sm font-medium">{label}</p>}
      <div ref={host} className={isLoaded ? 'border border-zinc-400 dark:border-zinc-600' : ''} />
      {isLoaded && (
        <>
          <p className="mt-1 text-xs text-zinc-600 dark:text-zinc-400">{words.keys}</p>
          <p role="status" className="text-sm text-red-800 dark:text-red-300">
            {problems.length > 0 && words.problems(problems)}
          </p>
        </>
      )}
    </div>
  );
}

/** What is selected in the field, if it has the focus. */
function selectionOf(field: HTMLTextAreaElement | null): Selection | undefined {
  if (!field || document.activeElement !== field) return undefined;
  return { from: field.selectionStart, to: field.selectionEnd };
}
