// Runs before the first paint, in a file of its own: the page's policy lets no script in the page itself run.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem('quark.theme');
  } catch {}
  const dark =
    choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
// A browser started under a POSIX locale names a language that no formatter takes, and uPlot asks for one on load.
try {
  Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' });
}
