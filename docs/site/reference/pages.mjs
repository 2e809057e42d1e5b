// The pages of the public names: one an entry with all its names, one a class, and one each for its functions, types and constants.
import { escapeHtml } from '../markdown/html.mjs';
import { linkBetween } from '../pages/addresses.mjs';
import { anchorOf, KINDS, memberAnchor, readReference } from './model.mjs';
import { typePrinter } from './types.mjs';

const code = (html) => `<pre class="code"><code>${html}</code></pre>\n`;
const inCode = (text) => `<code>${escapeHtml(text)}</code>`;

/** Writes what comments say. @param render Markdown to HTML @param addresses of names, by their number */
function commentWriter(render, addresses, address) {
  const markdownOf = (parts = []) =>
    parts
      .map((part) => {
        if (part.kind !== 'inline-tag') return part.text;
        const known = typeof part.target === 'number' ? addresses.get(part.target) : undefined;
        return known === undefined ? `\`${part.text}\`` : `[\`${part.text}\`](site:${known})`;
      })
      .join('');
  const html = (parts) => render(markdownOf(parts), address);
  const inline = (parts) => html(parts).replace(/^<p>([\s\S]*)<\/p>\n$/, '$1');
  const tags = (comment, name) =>
    (comment?.blockTags ?? []).filter(({ tag }) => tag === name).map(({ content }) => content);
  return { html, inline, tags };
}

/** The first sentence of a comment, for lists. */
function sentenceOf(parts = []) {
  const text = parts.map((part) => part.text.replaceAll(/\s+/g, ' ')).join('');
  const end = /[.:](?=\s[A-Z`]|$)/.exec(text);
  const cut = parts.map((part) => ({ ...part }));
  let left = end === null ? text.length : end.index + 1;
  for (const part of cut) {
    const words = part.text.replaceAll(/\s+/g, ' ');
    part.text = left <= 0 ? '' : part.kind === 'text' ? words.slice(0, left) : words;
    left -= words.length;
  }
  return cut.filter(({ text: words }) => words !== '');
}

const commentFor = (item) =>
  item.comment ??
  item.signatures?.[0]?.comment ??
  item.getSignature?.comment ??
  item.type?.declaration?.signatures?.[0]?.comment;

/** Members of an object type, also of those that it is put together from. */
const membersOf = (type) =>
  type?.type === 'intersection'
    ? type.types.flatMap(membersOf)
    : type?.type === 'reflection'
      ? (type.declaration.children ?? [])
      : [];

/** Writes the parts of one page. */
class PageWriter {
  #comments;
  #types;
  #address;

  constructor({ render, addresses }, address) {
    this.#address = address;
    this.#comments = commentWriter(render, addresses, address);
    this.#types = typePrinter((id) => {
      const known = addresses.get(id);
      return known === undefined ? undefined : linkBetween(address, known);
    });
  }

  link = (to, words) => `<a href="${linkBetween(this.#address, to)}">${inCode(words)}</a>`;

  heading(level, id, words, note = '') {
    return `<h${level} id="${id}"><code>${escapeHtml(words)}</code>${note}<a class="anchor" href="#${id}" aria-hidden="true" tabindex="-1">#</a></h${level}>\n`;
  }

  /** A table of names with their first sentence. */
  list(names) {
    const rows = names.map(({ item, address }) => {
      const comment = commentFor(item);
      const old =
        this.#comments.tags(comment, '@deprecated').length > 0 ? '<em>Deprecated.</em> ' : '';
      return `<tr><td>${this.link(address, item.name)}</td><td>${old}${this.#comments.inline(sentenceOf(comment?.summary))}</td></tr>`;
    });
    return `<div class="table names"><table><thead><tr><th>name</th><th>what it is for</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>\n`;
  }

  /** What a comment says, apart from its parameters. */
  #words(comment) {
    const { html, inline, tags } = this.#comments;
    const part = (name, title) =>
      tags(comment, name)
        .map((content) => `<p><strong>${title}</strong> ${inline(content)}</p>\n`)
        .join('');
    return [
      part('@deprecated', 'Deprecated:'),
      html(comment?.summary),
      ...tags(comment, '@remarks').map(html),
      part('@returns', 'Returns'),
      part('@yields', 'Yields'),
      part('@defaultValue', 'Default:'),
      part('@default', 'Default:'),
      part('@throws', 'Throws'),
      ...tags(comment, '@example').map(
        (content) => `<p><strong>Example</strong></p>\n${html(content)}`,
      ),
    ].join('');
  }

  #meanings(items) {
    const told = items.filter((item) => commentFor(item)?.summary?.length > 0 || item.defaultValue);
    if (told.length === 0) return '';
    const rows = told.map((item) => {
      const other =
        item.defaultValue && item.defaultValue !== '...'
          ? ` Default: ${inCode(item.defaultValue)}.`
          : '';
      const comment = commentFor(item);
      const more = ['@defaultValue', '@default', '@throws'].flatMap((tag) =>
        this.#comments
          .tags(comment, tag)
          .map(
            (content) =>
              ` ${tag === '@throws' ? 'Throws' : 'Default:'} ${this.#comments.inline(content)}`,
          ),
      );
      return `<tr><td>${inCode(item.name)}</td><td>${this.#comments.inline(comment?.summary)}${other}${more.join('')}</td></tr>`;
    });
    return `<div class="table names"><table><thead><tr><th>name</th><th>meaning</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>\n`;
  }

  #callable(signatures, before) {
    return signatures
      .map((one) => {
        const options = (one.parameters ?? []).flatMap(({ type }) => membersOf(type));
        return (
          code(before + this.#types.signature(one, 0, ': ')) +
          this.#words(one.comment) +
          this.#meanings([...(one.parameters ?? []), ...options])
        );
      })
      .join('');
  }

  #member(item, used) {
    const isStatic = item.flags.isStatic === true;
    const base = memberAnchor(item);
    const id = used.has(base) ? `${base}-${used.size}` : base;
    used.add(id);
    const note = isStatic ? ' <small>static</small>' : '';
    const head = this.heading(3, id, item.name, note);
    if (item.signatures) {
      const name = item.kind === KINDS.Constructor ? 'new ' : '';
      return (
        head +
        this.#callable(
          item.signatures,
          name + escapeHtml(name === '' ? item.name : item.signatures[0].type.name),
        )
      );
    }
    return head + code(this.#types.member(item)) + this.#words(commentFor(item));
  }

  /** The text of a class, below its heading. */
  classText(item) {
    const parents = (item.extendedTypes ?? []).map((type) => this.#types.print(type));
    const used = new Set(['content']);
    const visible = (item.children ?? []).filter((member) => member.flags.isPrivate !== true);
    const part = (title, kinds) => {
      const found = visible.filter(({ kind }) => kinds.includes(kind));
      if (found.length === 0) return '';
      const id = `group-${title.toLowerCase()}`;
      return `<h2 id="${id}">${title}</h2>\n${found.map((member) => this.#member(member, used)).join('')}`;
    };
    return [
      code(
        `class ${escapeHtml(item.name)}${this.#types.generics(item.typeParameters)}${parents.length > 0 ? ` extends ${parents.join(', ')}` : ''}`,
      ),
      this.#words(item.comment),
      part('Constructor', [KINDS.Constructor]),
      part('Methods', [KINDS.Method]),
      part('Properties', [KINDS.Property, KINDS.Accessor]),
    ].join('');
  }

  /** A name with its text on a page of many. */
  section(item) {
    const head = this.heading(2, anchorOf(item.name), item.name);
    const name = escapeHtml(item.name);
    if (item.kind === KINDS.Function)
      return head + this.#callable(item.signatures, `function ${name}`);
    if (item.kind === KINDS.Variable)
      return (
        head +
        code(`const ${name}: ${this.#types.print(item.type)}`) +
        this.#words(item.comment) +
        this.#meanings(membersOf(item.type))
      );
    const isAlias = item.kind === KINDS.TypeAlias;
    // TypeDoc has the members of an object type on the name itself.
    const type = item.type ?? { type: 'reflection', declaration: item };
    const parents = isAlias
      ? ''
      : (item.extendedTypes ?? []).map((one) => this.#types.print(one)).join(', ');
    return (
      head +
      code(
        `${isAlias ? 'type' : 'interface'} ${name}${this.#types.generics(item.typeParameters)}${parents ? ` extends ${parents}` : ''} ${isAlias ? '= ' : ''}${this.#types.print(type)}`,
      ) +
      this.#words(commentFor(item)) +
      this.#meanings(membersOf(type))
    );
  }
}

function groupPages({ title, address: under }, { names, ...group }, context) {
  if (group.isPaged)
    return names.map(({ item, address }) => ({
      address,
      title: item.name,
      under,
      depth: 1,
      html: `<h1>${escapeHtml(item.name)}</h1>\n<p class="crumb">A class of ${inCode(title)}</p>\n${new PageWriter(context, address).classText(item)}`,
    }));
  const writer = new PageWriter(context, group.address);
  return [
    {
      address: group.address,
      title: `${group.title} of ${title}`,
      label: group.title,
      under,
      depth: 1,
      html: `<h1>${group.title} of ${inCode(title)}</h1>\n${names.map(({ item }) => writer.section(item)).join('')}`,
    },
  ];
}

function entryPage({ title, address, comment, groups, others }, context, nameOf) {
  const writer = new PageWriter(context, address);
  const parts = groups.map(
    (group) =>
      `<h2 id="${group.id}">${group.isPaged ? group.title : `<a href="${linkBetween(address, group.address)}">${group.title}</a>`}</h2>\n${writer.list(group.names)}`,
  );
  const known = others.flatMap(({ name, target }) => {
    const at = context.addresses.get(target);
    return at === undefined ? [] : [{ address: at, item: nameOf(target) ?? { name } }];
  });
  const also =
    known.length === 0
      ? ''
      : `<h2 id="also">Of other entries</h2>\n<p>The same names, exported here too.</p>\n${writer.list(known)}`;
  const first =
    groups.find(({ id }) => id === 'functions' || id === 'classes')?.names[0]?.item.name ??
    known[0]?.item.name;
  const example = first
    ? context.render(`\`\`\`ts\nimport { ${first} } from '${title}';\n\`\`\``, address)
    : '';
  return {
    address,
    title,
    html: `<h1>${inCode(title)}</h1>\n${context.render(comment, address)}${example}${parts.join('')}${also}`,
  };
}

/** All pages. @param render Markdown to HTML, for a page at an address */
export async function referencePages(render) {
  const { entries, addresses } = await readReference();
  const context = { render, addresses };
  const items = new Map(
    entries.flatMap(({ groups }) =>
      groups.flatMap(({ names }) => names.map(({ item }) => [item.id, item])),
    ),
  );
  return entries.flatMap((entry) => [
    entryPage(entry, context, (id) => items.get(id)),
    ...entry.groups.flatMap((group) => groupPages(entry, group, context)),
  ]);
}
