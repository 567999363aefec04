import { badRequest } from './api-error.ts';
import { textIn, valueAt } from './json.ts';
import { storageOf, type ApiObject, type Resource } from './resource.ts';
import type { Label, Store } from './store.ts';

type Test = (object: ApiObject) => boolean;

/** A term without spaces around it. */
const term =
  /^(?:(!)\s*)?([A-Za-z0-9][-A-Za-z0-9_./]*)(?:\s*(=|==|!=)\s*([A-Za-z0-9][-A-Za-z0-9_.]*)?|\s+(in|notin)\s*\(([^)]*)\))?$/;

/** Splits at commas; a comma in parentheses separates values, not terms. */
function termsOf(selector: string): string[] {
  const terms = [''];
  for (const piece of selector.split(/(,|\([^)]*\)?)/)) {
    if (piece === ',') terms.push('');
    else terms.push(`${terms.pop()}${piece}`);
  }
  return terms.map((text) => text.trim());
}

/**
 * Compiles a label selector such as `app=api,!old,tier in (a,b)`.
 * @throws ApiError 400 for an invalid selector
 */
export function parseLabelSelector(selector: string): Test {
  if (!selector.trim()) return () => true;
  const tests = termsOf(selector).map((text): ((labels: Readonly<Record<string, string>>) => boolean) => {
    const [matched, not, key = '', operator, value = '', set, members = ''] = term.exec(text) ?? [];
    if (matched === undefined || (not && (operator ?? set))) {
      throw badRequest(`unable to parse requirement: ${JSON.stringify(text)} in ${JSON.stringify(selector)}`);
    }
    if (!operator && !set) return (labels) => key in labels === !not;
    const values = set ? members.split(',').map((member) => member.trim()) : [value];
    const expected = operator !== '!=' && set !== 'notin';
    // `!=` and `notin` also match objects without the label.
    return (labels) => (labels[key] !== undefined && values.includes(labels[key])) === expected;
  });
  return ({ metadata }) => tests.every((test) => test(metadata.labels ?? {}));
}

/**
 * Compiles a field selector such as `metadata.name=x`.
 * @throws ApiError 400 for a field that this resource does not support
 */
function parseFieldSelector(selector: string, { namespaced, fields = [], custom }: Resource): Test {
  if (!selector.trim()) return () => true;
  const supported = ['metadata.name', ...(namespaced ? ['metadata.namespace'] : []), ...fields];
  const tests = selector.split(',').map((text): Test => {
    const [matched, path = '', operator, value] = /^([^=!]+)(=|==|!=)(.*)$/.exec(text) ?? [];
    if (matched === undefined) throw badRequest(`invalid selector: '${selector}'; can't understand '${text}'`);
    if (!supported.includes(path)) {
      throw badRequest(
        fields.length > 0 || custom
          ? `field label not supported: ${path}`
          : `${JSON.stringify(path)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
      );
    }
    return (object) => (textIn(valueAt(object, path)) === value) === (operator !== '!=');
  });
  return (object) => tests.every((test) => test(object));
}

/** The objects of a list or watch. */
export interface Selection {
  resource: Resource;
  storage: string;
  namespace: string | undefined;
  test: Test;
  /** A label that all of them have, if the selector names one with its value. */
  label: Label | undefined;
  /** Whether there is no selector. */
  all: boolean;
}

/** The selection in a request's query. */
export function selectionOf(resource: Resource, namespace: string | undefined, query: URLSearchParams): Selection {
  const { labelSelector = '', fieldSelector = '' } = Object.fromEntries(query);
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector, resource);
  const isInside: Test = ({ metadata }) => namespace === undefined || metadata.namespace === namespace;
  const test: Test = (object) => isInside(object) && labels(object) && fields(object);
  const all = !labelSelector && !fieldSelector;
  return { resource, storage: storageOf(resource), namespace, test, label: requiredLabel(labelSelector), all };
}

/** The selected objects in the store, ordered by namespace and name. */
export function selectedObjects(store: Store, { storage, namespace, label, test }: Selection): ApiObject[] {
  return store.list(storage, namespace, label).filter(test);
}

/** The first term of a selector that demands a value. */
function requiredLabel(selector: string): Label | undefined {
  for (const text of termsOf(selector)) {
    const [, not, name, operator, value] = term.exec(text) ?? [];
    if (!not && name !== undefined && value !== undefined && operator !== '!=') return { name, value };
  }
  return undefined;
}
