import { badRequest } from './api-error.ts';
import { storageOf, type ApiObject, type Resource } from './resource.ts';

type Test = (object: ApiObject) => boolean;

const always: Test = () => true;
const term =
  /^\s*(?:(!)\s*)?([A-Za-z0-9][-A-Za-z0-9_./]*)\s*(?:(=|==|!=)\s*([A-Za-z0-9][-A-Za-z0-9_.]*)?|\s(in|notin)\s*\(([^)]*)\))?\s*$/;

/**
 * What a label selector such as `app=api,!old,tier in (a,b)` asks of an object's labels.
 * @throws ApiError 400 for what is no selector
 */
export function labelTest(selector: string | null): Test {
  if (!selector?.trim()) return always;
  // A comma within parentheses separates values, not terms.
  const tests = selector.split(/,(?![^(]*\))/).map((text): ((labels: Readonly<Record<string, string>>) => boolean) => {
    const [matched, not, key = '', operator, value = '', set, members = ''] = term.exec(text) ?? [];
    if (matched === undefined || (not && (operator ?? set))) {
      throw badRequest(`unable to parse requirement: ${JSON.stringify(text.trim())} in ${JSON.stringify(selector)}`);
    }
    if (set) {
      const values = new Set(members.split(',').map((member) => member.trim()));
      // As `!=`, `notin` is true of an object without the label.
      return (labels) => (labels[key] !== undefined && values.has(labels[key])) === (set === 'in');
    }
    if (operator) return (labels) => (labels[key] === value) === (operator !== '!=');
    return (labels) => key in labels === !not;
  });
  return ({ metadata }) => tests.every((test) => test(metadata.labels ?? {}));
}

/**
 * What a field selector such as `metadata.name=x` asks of an object.
 * @throws ApiError 400 for a field by which this resource is not selected
 */
export function fieldTest(selector: string | null, resource: Resource): Test {
  if (!selector?.trim()) return always;
  const fieldsOf = (object: ApiObject): Record<string, string> => ({
    'metadata.name': object.metadata.name,
    ...(resource.namespaced && { 'metadata.namespace': object.metadata.namespace ?? '' }),
    ...resource.strategy.fields?.(object),
  });
  const known = fieldsOf({ apiVersion: '', kind: '', metadata: { name: '' } });
  const tests = selector.split(',').map((text): ((fields: Record<string, string>) => boolean) => {
    const [matched, key = '', operator, value = ''] = /^([^=!]+)(=|==|!=)(.*)$/.exec(text) ?? [];
    if (matched === undefined) throw badRequest(`invalid selector: '${selector}'; can't understand '${text}'`);
    if (!(key in known)) {
      throw badRequest(
        resource.strategy.fields || resource.custom
          ? `field label not supported: ${key}`
          : `${JSON.stringify(key)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
      );
    }
    return (fields) => (fields[key] === value) === (operator !== '!=');
  });
  return (object) => {
    const fields = fieldsOf(object);
    return tests.every((test) => test(fields));
  };
}

/** Which objects a list or a watch is about. */
export interface Selection {
  resource: Resource;
  storage: string;
  namespace: string | undefined;
  test: Test;
  /** Whether there is a selector at all. */
  all: boolean;
}

/** The selection of a request's query. `name` narrows it to one object. */
export function selectionOf(
  resource: Resource,
  namespace: string | undefined,
  query: URLSearchParams,
  name?: string,
): Selection {
  const labels = labelTest(query.get('labelSelector'));
  const fields = fieldTest(query.get('fieldSelector'), resource);
  return {
    resource,
    storage: storageOf(resource),
    namespace,
    all: labels === always && fields === always,
    test: (object) =>
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (name === undefined || object.metadata.name === name) &&
      labels(object) &&
      fields(object),
  };
}
