import { badRequest } from './api-error.ts';
import { textIn, valueAt } from './json.ts';
import { storageOf, type ApiObject, type Resource } from './resource.ts';

type Test = (object: ApiObject) => boolean;

const term =
  /^\s*(?:(!)\s*)?([A-Za-z0-9][-A-Za-z0-9_./]*)\s*(?:(=|==|!=)\s*([A-Za-z0-9][-A-Za-z0-9_.]*)?|\s(in|notin)\s*\(([^)]*)\))?\s*$/;

/**
 * What a label selector such as `app=api,!old,tier in (a,b)` asks of an object's labels.
 * @throws ApiError 400 for what is no selector
 */
export function labelTest(selector: string): Test {
  if (!selector.trim()) return () => true;
  // A comma within parentheses separates values, not terms.
  const tests = selector.split(/,(?![^(]*\))/).map((text): ((labels: Readonly<Record<string, string>>) => boolean) => {
    const [matched, not, key = '', operator, value = '', set, members = ''] = term.exec(text) ?? [];
    if (matched === undefined || (not && (operator ?? set))) {
      throw badRequest(`unable to parse requirement: ${JSON.stringify(text.trim())} in ${JSON.stringify(selector)}`);
    }
    if (!operator && !set) return (labels) => key in labels === !not;
    const values = set ? members.split(',').map((member) => member.trim()) : [value];
    const wanted = operator !== '!=' && set !== 'notin';
    // `!=` and `notin` are true of an object without the label.
    return (labels) => (labels[key] !== undefined && values.includes(labels[key])) === wanted;
  });
  return ({ metadata }) => tests.every((test) => test(metadata.labels ?? {}));
}

/**
 * What a field selector such as `metadata.name=x` asks of an object.
 * @throws ApiError 400 for a field by which this resource is not selected
 */
function fieldTest(selector: string, { namespaced, fields = [], custom }: Resource): Test {
  if (!selector.trim()) return () => true;
  const known = ['metadata.name', ...(namespaced ? ['metadata.namespace'] : []), ...fields];
  const tests = selector.split(',').map((text): Test => {
    const [matched, path = '', operator, value] = /^([^=!]+)(=|==|!=)(.*)$/.exec(text) ?? [];
    if (matched === undefined) throw badRequest(`invalid selector: '${selector}'; can't understand '${text}'`);
    if (!known.includes(path)) {
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

/** Which objects a list or a watch is about. */
export interface Selection {
  resource: Resource;
  storage: string;
  namespace: string | undefined;
  test: Test;
  /** Whether there is no selector at all. */
  all: boolean;
}

/** The selection of a request's query. */
export function selectionOf(resource: Resource, namespace: string | undefined, query: URLSearchParams): Selection {
  const { labelSelector = '', fieldSelector = '' } = Object.fromEntries(query);
  const labels = labelTest(labelSelector);
  const fields = fieldTest(fieldSelector, resource);
  const isInside: Test = ({ metadata }) => namespace === undefined || metadata.namespace === namespace;
  const test: Test = (object) => isInside(object) && labels(object) && fields(object);
  return { resource, storage: storageOf(resource), namespace, test, all: !labelSelector && !fieldSelector };
}
