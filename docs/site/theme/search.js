// The search: a dialog with a field and a list, over the index that is loaded beside it.
(() => {
  const { options, index } = globalThis.quarkSearch;
  const search = globalThis.MiniSearch.loadJSON(index, options);
  const base = document.body.dataset.base;
  const MOST = 30;
  const AROUND = 70;
  /** A name of the package, as code has it: then its own page comes first. */
  const isName = /[a-z][A-Z]|[A-Z][a-z]+[A-Z]|[A-Z]_[A-Z]/;

  const dialog = document.createElement('dialog');
  dialog.className = 'search';
  dialog.setAttribute('aria-label', 'Search');
  dialog.innerHTML = `<input type="search" role="combobox" aria-label="Search" aria-expanded="false" aria-autocomplete="list" aria-controls="found" placeholder="A name, an option, a word" autocomplete="off" spellcheck="false">
    <p class="sum" role="status"></p><ul id="found" role="listbox" aria-label="Found"></ul>`;
  document.body.append(dialog);
  const field = dialog.querySelector('input');
  const list = dialog.querySelector('ul');
  const sum = dialog.querySelector('.sum');
  let chosen = -1;

  const askedWith = (words, combineWith) =>
    search.search(words, {
      // Somebody who writes `logColumns` means that name, not any text with "log" and "columns".
      tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean),
      boost: { title: 5, heading: 4 },
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      weights: { prefix: 0.5, fuzzy: 0.15 },
      boostDocument: (_id, _term, { section, weight }) =>
        section === 'Reference' && isName.test(words) ? 1 : weight,
      combineWith,
    });

  /** Sections with all words, or with any of them where none has all. */
  const asked = (words) => {
    const found = askedWith(words, 'AND');
    return found.length > 0 ? found : askedWith(words, 'OR');
  };

  /** Text with the words that were found marked. */
  const marked = (text, terms) => {
    const pattern = terms
      .map((term) => term.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .sort((a, b) => b.length - a.length)
      .join('|');
    if (pattern === '') return [text];
    return text.split(new RegExp(`(${pattern})`, 'giu')).map((part, at) => {
      if (at % 2 === 0) return part;
      const mark = document.createElement('mark');
      mark.textContent = part;
      return mark;
    });
  };

  /** The words around the first match. */
  const around = (text, terms) => {
    const lower = text.toLowerCase();
    const found = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
    const at = Math.max(0, Math.min(...found, text.length) - AROUND);
    const start = found.length === 0 || at === 0 ? 0 : text.indexOf(' ', at) + 1;
    return `${start > 0 ? '… ' : ''}${text.slice(start, start + 3 * AROUND)}`;
  };

  const choose = (at) => {
    const items = [...list.children];
    chosen = items.length === 0 ? -1 : (at + items.length) % items.length;
    for (const [i, item] of items.entries())
      item.setAttribute('aria-selected', String(i === chosen));
    if (chosen < 0) field.removeAttribute('aria-activedescendant');
    else {
      field.setAttribute('aria-activedescendant', items[chosen].id);
      items[chosen].scrollIntoView({ block: 'nearest' });
    }
  };

  const item = ({ title, heading, section, excerpt, address, terms }, at) => {
    const element = document.createElement('li');
    element.id = `found-${at}`;
    element.setAttribute('role', 'option');
    const link = document.createElement('a');
    link.href = base + address;
    link.tabIndex = -1;
    const head = document.createElement('strong');
    head.append(...marked(heading || title, terms));
    const where = document.createElement('span');
    where.className = 'where';
    where.textContent = heading ? `${section} · ${title}` : section;
    const text = document.createElement('span');
    text.className = 'excerpt';
    text.append(...marked(around(excerpt, terms), terms));
    link.append(head, where, text);
    link.addEventListener('click', () => dialog.close());
    element.append(link);
    return element;
  };

  const show = () => {
    const words = field.value.trim();
    const found = words === '' ? [] : asked(words);
    list.replaceChildren(...found.slice(0, MOST).map(item));
    list.hidden = found.length === 0;
    field.setAttribute('aria-expanded', String(found.length > 0));
    const count = found.length === 1 ? '1 section' : `${found.length} sections`;
    const more = found.length > MOST ? `, the best ${MOST} of them` : '';
    sum.textContent = words === '' ? '' : found.length === 0 ? 'Nothing found.' : `${count}${more}`;
    choose(0);
  };

  field.addEventListener('input', show);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen - 1);
    else if (event.key === 'Enter') list.children[chosen]?.querySelector('a').click();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });

  globalThis.openQuarkSearch = () => {
    if (!dialog.open) dialog.showModal();
    field.focus();
    field.select();
    show();
  };
})();
