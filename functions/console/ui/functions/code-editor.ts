import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { python } from '@codemirror/lang-python';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting, syntaxTree } from '@codemirror/language';
import { linter, lintGutter, type Diagnostic } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorSelection, EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** Loaded only by the form of a function: it is almost as large as the rest of the console (decision 0068). */

export type CodeLanguage = 'node' | 'python';

export interface CodeEditorOptions {
  /** The name of the editor for assistive technology; a label outside the shadow root cannot name it. */
  label: string;
  language: CodeLanguage;
  value: string;
  onChange: (value: string) => void;
  /** The lines with a syntax error, in their order and each once. */
  onProblems: (lines: readonly number[]) => void;
  syntaxError: string;
}

/** What was selected in the field that the editor replaces. */
export interface Selection {
  from: number;
  to: number;
}

export interface CodeEditor {
  setValue(value: string): void;
  setLanguage(language: CodeLanguage): void;
  setInvalid(isInvalid: boolean): void;
  focus(selection: Selection): void;
  destroy(): void;
}

/** A parser that has lost its way reports every word. */
const problemsMax = 20;

/** Each colour for a light and a dark page, with a contrast of at least 4.5 on the background. */
const ink = (light: string, dark: string) => `light-dark(${light}, ${dark})`;

const theme = EditorView.theme({
  '&': { fontSize: '14px', color: ink('#18181b', '#f4f4f5'), backgroundColor: ink('#fff', '#18181b') },
  '&.cm-focused': { outline: `2px solid ${ink('#4f46e5', '#818cf8')}`, outlineOffset: '2px' },
  '.cm-scroller': {
    fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
    minHeight: '18em',
    maxHeight: '70vh',
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'currentcolor', minHeight: '18em' },
  '.cm-cursor': { borderLeftColor: 'currentcolor' },
  '.cm-gutters': { color: ink('#52525b', '#a1a1aa'), backgroundColor: ink('#fff', '#18181b'), border: 'none' },
  '.cm-activeLine': { backgroundColor: ink('#eef2ff80', '#31314a66') },
  '.cm-activeLineGutter': { backgroundColor: ink('#e4e4e7', '#3f3f46') },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: ink('#c7d2fe', '#3730a3'),
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: ink('#d9f99d', '#365314') },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: ink('#fecaca', '#7f1d1d') },
  '.cm-panels, .cm-tooltip': {
    color: 'inherit',
    backgroundColor: ink('#f4f4f5', '#27272a'),
    border: `1px solid ${ink('#d4d4d8', '#3f3f46')}`,
  },
  '.cm-textfield, .cm-button': {
    color: 'inherit',
    fontSize: '14px',
    backgroundColor: ink('#fff', '#18181b'),
    backgroundImage: 'none',
    border: `1px solid ${ink('#a1a1aa', '#52525b')}`,
  },
  '.cm-panel.cm-search [name=close]': { color: 'inherit', fontSize: '20px' },
  '.cm-panel.cm-search label': { fontSize: '14px' },
  '.cm-searchMatch': { backgroundColor: ink('#fde68a', '#713f12') },
  '.cm-searchMatch-selected, .cm-selectionMatch': { backgroundColor: ink('#fcd34d', '#92400e') },
});

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: ink('#6d28d9', '#c4b5fd') },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: ink('#166534', '#86efac') },
  { tag: [tags.number, tags.bool, tags.null], color: ink('#9a3412', '#fdba74') },
  { tag: tags.comment, color: ink('#52525b', '#a1a1aa'), fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: ink('#1d4ed8', '#93c5fd') },
  { tag: [tags.typeName, tags.className], color: ink('#0f766e', '#5eead4') },
  { tag: tags.invalid, color: ink('#b91c1c', '#fca5a5') },
]);

/**
 * Writes text over a selection. Chromium would give the text the looks of what it replaces, by an inline style, which the
 * policy refuses and reports.
 */
const writeOverSelection = EditorView.domEventHandlers({
  beforeinput({ inputType, data, cancelable }, view) {
    const selection = currentSelection(view);
    if (inputType !== 'insertText' || data === null || !cancelable || selection.main.empty) return false;
    view.dispatch({ selection });
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** What is selected. The editor learns later of a selection that a program has just made in the page. */
function currentSelection(view: EditorView): EditorSelection {
  const { state, root, contentDOM } = view;
  // Of a long text, the page has only a part.
  if (!state.selection.main.empty) return state.selection;
  const {
    anchorNode,
    anchorOffset = 0,
    focusNode,
    focusOffset = 0,
  } = (root as Partial<Document>).getSelection?.() ?? {};
  if (!anchorNode || !focusNode || !contentDOM.contains(anchorNode) || !contentDOM.contains(focusNode)) {
    return state.selection;
  }
  return EditorSelection.single(view.posAtDOM(anchorNode, anchorOffset), view.posAtDOM(focusNode, focusOffset));
}

const languages = { node: () => javascript(), python: () => python() } satisfies Record<CodeLanguage, () => unknown>;

/**
 * Mounts an editor in the shadow root of an element. There, CodeMirror's styles are constructed style sheets; in the page
 * they would be an element that the policy refuses. Tab leaves the editor.
 */
export function mountCodeEditor(host: HTMLElement, options: CodeEditorOptions): CodeEditor {
  const { label, value, onChange, onProblems, syntaxError } = options;
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const language = new Compartment();
  const attributes = new Compartment();
  const attributesOf = (isInvalid: boolean) =>
    EditorView.contentAttributes.of({ 'aria-label': label, 'aria-invalid': String(isInvalid), tabindex: '0' });
  const problems = (view: EditorView): Diagnostic[] => {
    const diagnostics = syntaxErrors(view.state, syntaxError);
    onProblems(diagnostics.map(({ from }) => view.state.doc.lineAt(from).number));
    return diagnostics;
  };
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: value,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        search({ top: true }),
        keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        linter(problems),
        language.of(languages[options.language]()),
        attributes.of(attributesOf(false)),
        writeOverSelection,
        syntaxHighlighting(colors),
        theme,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setValue(next) {
      const { doc } = view.state;
      if (doc.toString() !== next) view.dispatch({ changes: { from: 0, to: doc.length, insert: next } });
    },
    setLanguage: (next) => view.dispatch({ effects: language.reconfigure(languages[next]()) }),
    setInvalid: (isInvalid) => view.dispatch({ effects: attributes.reconfigure(attributesOf(isInvalid)) }),
    focus({ from, to }) {
      const { length } = view.state.doc;
      view.dispatch({
        selection: { anchor: Math.min(from, length), head: Math.min(to, length) },
        scrollIntoView: true,
      });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

/** Where the parser could not read the code: at most one problem for each line. */
function syntaxErrors(state: EditorState, message: string): Diagnostic[] {
  const problems: Diagnostic[] = [];
  let lastLine = 0;
  syntaxTree(state).iterate({
    enter({ type, from, to }) {
      if (problems.length >= problemsMax) return false;
      const line = state.doc.lineAt(from);
      if (type.isError && line.number > lastLine) {
        lastLine = line.number;
        // An error without a length is something that is missing there.
        problems.push({
          from,
          to: Math.min(Math.max(to, from + 1), Math.max(line.to, from)),
          severity: 'error',
          message,
        });
      }
      return true;
    },
  });
  return problems;
}
