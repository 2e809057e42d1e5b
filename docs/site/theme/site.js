// What a page does beyond being read: the switch of the scheme, copying code, the menu on a phone, and opening the search.
(() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isNarrow = matchMedia('(max-width: 60rem)');
  const hasOneColumn = matchMedia('(max-width: 80rem)');
  const base = document.body.dataset.base;

  // One button: system, then the scheme that the system has not, then the other.
  const SCHEMES = ['system', 'light', 'dark'];
  const scheme = document.querySelector('.scheme');
  const showScheme = () => {
    const name = root.dataset.theme ?? 'system';
    const shown = { system: 'Auto', light: 'Light', dark: 'Dark' }[name];
    scheme.textContent = shown;
    scheme.setAttribute('aria-label', `${shown}: the colour scheme`);
  };
  scheme.hidden = false;
  scheme.addEventListener('click', () => {
    const at = SCHEMES.indexOf(root.dataset.theme ?? 'system');
    const chosen = SCHEMES[(at + 1) % SCHEMES.length];
    if (chosen === 'system') delete root.dataset.theme;
    else root.dataset.theme = chosen;
    try {
      localStorage.setItem('quark-docs-theme', chosen);
    } catch {
      // A browser that stores nothing has the choice until the next page.
    }
    showScheme();
  });
  showScheme();

  // Paper is light, whatever the page is.
  let onScreen;
  addEventListener('beforeprint', () => {
    onScreen = root.dataset.theme;
    delete root.dataset.theme;
  });
  addEventListener('afterprint', () => {
    if (onScreen !== undefined) root.dataset.theme = onScreen;
  });

  // The menu and the table of contents are folded where there is no room beside the text.
  const fold = () => {
    for (const part of all('.side')) part.open = !isNarrow.matches;
    for (const part of all('.toc details')) part.open = !hasOneColumn.matches;
  };
  fold();
  for (const query of [isNarrow, hasOneColumn]) query.addEventListener('change', fold);
  const current = document.querySelector('.side [aria-current]');
  const side = document.querySelector('.side');
  if (current && current.offsetTop > side.clientHeight - 80)
    side.scrollTop = current.offsetTop - side.clientHeight / 2;

  // What scrolls inside itself can be reached by keys.
  const reach = () => {
    for (const box of all('article pre, .table')) {
      const isWide = box.scrollWidth > box.clientWidth + 1;
      if (!isWide) {
        box.removeAttribute('tabindex');
        box.removeAttribute('role');
        box.removeAttribute('aria-label');
        continue;
      }
      box.tabIndex = 0;
      box.setAttribute('role', 'group');
      box.setAttribute('aria-label', box.matches('pre') ? 'Code' : 'Table');
    }
  };
  reach();
  addEventListener('resize', reach);

  for (const pre of all('article pre.code')) {
    if (pre.textContent.length < 12 || !navigator.clipboard) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Not copied';
      }
      setTimeout(() => (button.textContent = 'Copy'), 1600);
    });
    const box = document.createElement('div');
    box.className = 'code-box';
    pre.replaceWith(box);
    box.append(pre, button);
  }

  // The heading that is read is marked in the table of contents.
  const marks = new Map(
    all('.toc a').map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
  );
  const headings = all('article h2[id], article h3[id]').filter(({ id }) => marks.has(id));
  const mark = () => {
    const line = 0.25 * innerHeight;
    const at = headings.findLastIndex((heading) => heading.getBoundingClientRect().top < line);
    for (const [index, { id }] of headings.entries())
      marks.get(id).toggleAttribute('data-read', index === Math.max(at, 0));
  };
  if (headings.length > 0) {
    addEventListener('scroll', mark, { passive: true });
    mark();
  }

  // The search comes when it is asked for: its index is larger than any page.
  const load = (name) =>
    new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.async = false; // in their order
      script.src = `${base}assets/${name}`;
      script.addEventListener('load', resolve);
      script.addEventListener('error', () => reject(new Error(`${name} does not load.`)));
      document.head.append(script);
    });
  let loading;
  const openSearch = async () => {
    loading ??= Promise.all(['minisearch.js', 'search-index.js', 'search.js'].map(load));
    await loading;
    globalThis.openQuarkSearch();
  };
  const opener = document.querySelector('.search-open');
  opener.hidden = false;
  opener.addEventListener('click', openSearch);
  addEventListener('keydown', (event) => {
    const isTyping = event.target.closest?.('input, textarea, select, [contenteditable]');
    const isSlash = event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey;
    const isCommand = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
    if (!isSlash && !isCommand) return;
    event.preventDefault();
    void openSearch();
  });
})();
