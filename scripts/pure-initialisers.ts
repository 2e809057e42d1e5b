// What bundlers need to leave out what is not used: each constant at the top level of a chunk of dist/ is either a value that every
// bundler knows to be free of effects, or the result of a call that is marked so. The source has no work at module level
// (test/package/tree-shaking.test.ts); this pass says it in the one spelling that esbuild, Rollup, Vite and webpack all read.
import { parseAst, type Plugin, type Rolldown } from 'vite';

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>;

const PURE = '/* @__PURE__ */ ';

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value;
const nodesOf = (value: unknown): readonly Node[] =>
  Array.isArray(value) ? value.filter(isNode) : [];

/** Marks what the top level of each chunk declares. */
export function pureInitialisers(): Plugin {
  return {
    name: 'quark:pure-initialisers',
    enforce: 'post',
    renderChunk: (code, { fileName }: Rolldown.RenderedChunk) =>
      fileName.endsWith('.js') ? { code: withPureInitialisers(code), map: null } : null,
  };
}

type Change = { readonly start: number; readonly end: number; readonly text: string };

/** The text of a module with what its top level declares marked, apart from what no bundler doubts. */
export function withPureInitialisers(code: string): string {
  const program: unknown = parseAst(code);
  const changes = nodesOf(Reflect.get(Object(program), 'body')).flatMap((statement): Change[] => {
    const { end, id, start, type } = statement;
    if (type === 'VariableDeclaration')
      return nodesOf(statement['declarations']).flatMap(({ init }) =>
        isNode(init) ? changesOf(init, code) : [],
      );
    if (type !== 'ClassDeclaration' || !isNode(id) || isPlainClass(statement)) return [];
    const name = String(id['name']);
    return [
      { start, end: start, text: `const ${name} = ${PURE}(() => { ` },
      { start: end, end, text: `; return ${name}; })();` },
    ];
  });
  let result = '';
  let at = 0;
  for (const { end, start, text } of changes) {
    result += code.slice(at, start) + text;
    at = end;
  }
  return result + code.slice(at);
}

/** Marks of the calls in an initialiser; where that does not say enough, all of it becomes a call that is marked. */
function changesOf(init: Node, code: string): Change[] {
  const { end, start } = init;
  const number = numberOf(init);
  if (number !== undefined) return [{ start, end, text: number }];
  const calls = callsOf(init);
  if (calls === undefined)
    return [
      { start, end: start, text: `${PURE}(() => (` },
      { start: end, end, text: '))()' },
    ];
  return calls.flatMap((call) =>
    code.slice(0, call.start).trimEnd().endsWith(PURE.trimEnd())
      ? []
      : [{ start: call.start, end: call.start, text: PURE }],
  );
}

/** The value of `1 << 20` and the like, which esbuild leaves in a bundle that is not minified. */
function numberOf({ left, operator, right, type }: Node): string | undefined {
  if (type !== 'BinaryExpression' || !isNode(left) || !isNode(right)) return undefined;
  const [a, b] = [left['value'], right['value']];
  if (typeof a !== 'number' || typeof b !== 'number') return undefined;
  switch (operator) {
    case '<<':
      return String(a << b);
    case '*':
      return String(a * b);
    case '**':
      return String(a ** b);
    default:
      return undefined;
  }
}

/** The calls of an expression that has no effect but by them, in the order of their text; undefined for any other. */
function callsOf(node: Node): readonly Node[] | undefined {
  switch (node.type) {
    case 'Literal':
    case 'Identifier':
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return [];
    case 'TemplateLiteral':
      return nodesOf(node['expressions']).length === 0 ? [] : undefined;
    case 'UnaryExpression':
      return isNode(node['argument']) && node['argument'].type === 'Literal' ? [] : undefined;
    case 'ArrayExpression':
      return callsOfAll(nodesOf(node['elements']));
    case 'ObjectExpression':
      return callsOfAll(nodesOf(node['properties']));
    case 'Property':
      return node['computed'] === true || !isNode(node['value'])
        ? undefined
        : callsOf(node['value']);
    case 'ClassExpression':
      return isPlainClass(node) ? [] : undefined;
    case 'CallExpression':
    case 'NewExpression': {
      const inside = callsOfAll(nodesOf(node['arguments']));
      return inside !== undefined && isName(node['callee']) ? [node, ...inside] : undefined;
    }
    default:
      return undefined;
  }
}

function callsOfAll(nodes: readonly Node[]): readonly Node[] | undefined {
  const calls: Node[] = [];
  for (const node of nodes) {
    const found = callsOf(node);
    if (found === undefined) return undefined;
    calls.push(...found);
  }
  return calls;
}

/** `f` or `Object.freeze`: before anything else, a mark would be that of a part of it. */
function isName(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  if (callee.type === 'Identifier') return true;
  return (
    callee.type === 'MemberExpression' && callee['computed'] !== true && isName(callee['object'])
  );
}

/** A computed name may be an object whose conversion to a name has effects, and what a static member is set to is evaluated. */
function isPlainClass({ body, superClass }: Node): boolean {
  if (isNode(superClass) && superClass.type !== 'Identifier') return false;
  return nodesOf(isNode(body) ? body['body'] : []).every((member) => {
    if (member.type === 'StaticBlock' || member['computed'] === true) return false;
    const { value } = member;
    const isSet = member['static'] === true && member.type === 'PropertyDefinition';
    return !isSet || !isNode(value) || callsOf(value)?.length === 0;
  });
}
