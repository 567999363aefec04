import { useState } from 'react';
import type { AttachedFile } from './files.ts';

/** The question that the user writes, with its files. It outlives the field, which the list of conversations replaces. */
export function useQuestion() {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<readonly AttachedFile[]>([]);
  const [sendsPage, setSendsPage] = useState(true);
  return { text, setText, files, setFiles, sendsPage, setSendsPage };
}

export type QuestionState = ReturnType<typeof useQuestion>;
