import t from 'tap';
import { labelLines, labelsIn } from '../../../functions/console/ui/platform/labels.ts';

t.test('labels are lines, and lines are labels', (t) => {
  const labels = { controller: 'App', line: 'a=b', namespace: '' };
  t.same(labelLines(labels), ['controller=App', 'line=a=b', 'namespace=']);
  t.same(labelsIn(labelLines(labels).join('\n')), labels);
  t.same(labelsIn(' controller = App \r\n\n  \nnamespace'), { controller: 'App', namespace: '' });
  t.same(labelsIn(''), {});
  t.equal(JSON.stringify(labelsIn('__proto__=x')), '{"__proto__":"x"}', 'the API refuses it, not the browser');
  t.end();
});
