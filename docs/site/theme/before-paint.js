// The scheme that was chosen, before anything is drawn; without a choice that of the system.
try {
  const chosen = localStorage.getItem('quark-docs-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that stores nothing follows the system.
}
