// Types of TypeDoc as HTML: TypeScript as one writes it, with links to the names that have a page.
import { escapeHtml, textOf } from '../markdown/html.mjs';
import { KINDS } from './model.mjs';

/** How deep an object type is written out; deeper ones are `{ ... }`. */
const DEPTH = 3;

/** Characters of parameters in one line. */
const LINE = 56;

/** Prints types. @param linkTo the link of a name by its number, or undefined */
export function typePrinter(linkTo) {
  const list = (types, depth) => types.map((type) => print(type, depth)).join(', ');

  const parameter = ({ name, flags, type }, depth) =>
    `${flags.isRest ? '...' : ''}${escapeHtml(name)}${flags.isOptional ? '?' : ''}: ${print(type, depth)}`;

  /** `(a: string) => number`, or with `: ` between; a parameter a line where one line would be too long. */
  const signature = ({ parameters = [], typeParameters, type }, depth, arrow) => {
    const texts = parameters.map((one) => parameter(one, depth));
    const length = texts.reduce((sum, text) => sum + textOf(text).length + 2, 0);
    const isLong = depth === 0 && arrow === ': ' && texts.length > 1 && length > LINE;
    const inside = isLong ? `\n${texts.map((text) => `  ${text},\n`).join('')}` : texts.join(', ');
    return `${generics(typeParameters)}(${inside})${arrow}${print(type, depth)}`;
  };

  const generics = (parameters = []) => {
    if (parameters.length === 0) return '';
    const texts = parameters.map(
      ({ name, type, default: other }) =>
        `${escapeHtml(name)}${type ? ` extends ${print(type)}` : ''}${other ? ` = ${print(other)}` : ''}`,
    );
    return `&lt;${texts.join(', ')}&gt;`;
  };

  const object = ({ children = [], signatures = [], indexSignatures = [] }, depth) => {
    if (signatures.length > 0 && children.length === 0)
      return signatures.map((one) => signature(one, depth, ' =&gt; ')).join(' &amp; ');
    if (depth >= DEPTH) return '{ … }';
    const pad = '  '.repeat(depth + 1);
    const rows = [
      ...indexSignatures.map(
        (one) =>
          `${pad}[${parameter(one.parameters[0], depth + 1)}]: ${print(one.type, depth + 1)};\n`,
      ),
      ...children.map((child) => `${pad}${member(child, depth + 1)};\n`),
    ];
    return rows.length === 0 ? '{}' : `{\n${rows.join('')}${'  '.repeat(depth)}}`;
  };

  const member = ({ name, flags, type, signatures, getSignature, kind }, depth = 0) => {
    if (signatures && kind !== KINDS.Property)
      return signatures
        .map(
          (one) =>
            `${escapeHtml(name)}${flags.isOptional ? '?' : ''}${signature(one, depth, ': ')}`,
        )
        .join(';\n');
    const readonly = flags.isReadonly || getSignature ? 'readonly ' : '';
    return `${readonly}${escapeHtml(name)}${flags.isOptional ? '?' : ''}: ${print(type ?? getSignature?.type, depth)}`;
  };

  const inBrackets = (type, depth) => {
    const isCompound =
      ['union', 'intersection', 'conditional', 'typeOperator', 'query'].includes(type.type) ||
      (type.type === 'reflection' && type.declaration.signatures);
    return isCompound ? `(${print(type, depth)})` : print(type, depth);
  };

  const PRINTERS = {
    intrinsic: ({ name }) => name,
    literal: ({ value }) => {
      if (typeof value === 'object' && value !== null)
        return `${value.negative ? '-' : ''}${value.value}n`;
      return escapeHtml(typeof value === 'string' ? `'${value}'` : String(value));
    },
    reference: ({ name, target, typeArguments }, depth) => {
      const href = typeof target === 'number' ? linkTo(target) : undefined;
      const shown = href ? `<a href="${href}">${escapeHtml(name)}</a>` : escapeHtml(name);
      return typeArguments?.length ? `${shown}&lt;${list(typeArguments, depth)}&gt;` : shown;
    },
    array: ({ elementType }, depth) => `${inBrackets(elementType, depth)}[]`,
    union: ({ types }, depth) =>
      types
        .map((type) =>
          type.type === 'reflection' && type.declaration.signatures
            ? inBrackets(type, depth)
            : print(type, depth),
        )
        .join(' | '),
    intersection: ({ types }, depth) =>
      types
        .map((type) => (type.type === 'union' ? inBrackets(type, depth) : print(type, depth)))
        .join(' &amp; '),
    reflection: ({ declaration }, depth) => object(declaration, depth),
    tuple: ({ elements = [] }, depth) => `[${list(elements, depth)}]`,
    namedTupleMember: ({ name, isOptional, element }, depth) =>
      `${escapeHtml(name)}${isOptional ? '?' : ''}: ${print(element, depth)}`,
    rest: ({ elementType }, depth) => `...${print(elementType, depth)}`,
    optional: ({ elementType }, depth) => `${print(elementType, depth)}?`,
    typeOperator: ({ operator, target }, depth) => `${operator} ${inBrackets(target, depth)}`,
    query: ({ queryType }, depth) => `typeof ${print(queryType, depth)}`,
    indexedAccess: ({ objectType, indexType }, depth) =>
      `${inBrackets(objectType, depth)}[${print(indexType, depth)}]`,
    conditional: ({ checkType, extendsType, trueType, falseType }, depth) =>
      `${print(checkType, depth)} extends ${print(extendsType, depth)} ? ${print(trueType, depth)} : ${print(falseType, depth)}`,
    inferred: ({ name }) => `infer ${escapeHtml(name)}`,
    mapped: (
      {
        parameter: name,
        parameterType,
        templateType,
        readonlyModifier,
        optionalModifier,
        nameType,
      },
      depth,
    ) =>
      `{ ${readonlyModifier ? 'readonly ' : ''}[${escapeHtml(name)} in ${print(parameterType, depth)}${nameType ? ` as ${print(nameType, depth)}` : ''}]${optionalModifier === '+' ? '?' : optionalModifier === '-' ? '-?' : ''}: ${print(templateType, depth)} }`,
    predicate: ({ name, asserts, targetType }, depth) =>
      `${asserts ? 'asserts ' : ''}${escapeHtml(name)}${targetType ? ` is ${print(targetType, depth)}` : ''}`,
    templateLiteral: ({ head, tail }, depth) =>
      `\`${escapeHtml(head)}${tail.map(([type, text]) => `\${${print(type, depth)}}${escapeHtml(text)}`).join('')}\``,
    unknown: ({ name }) => escapeHtml(name),
  };

  function print(type, depth = 0) {
    if (type === undefined) return 'unknown';
    const printer = PRINTERS[type.type];
    if (printer === undefined)
      throw new Error(`The reference cannot write a type of kind ${type.type}.`);
    return printer(type, depth);
  }

  return { print, member, signature, generics };
}
