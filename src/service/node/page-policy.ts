/** The Content-Security-Policy of the dashboard. The page holds a key, so it runs only its own scripts. */

/**
 * A content security policy for the dashboard. No script in the page itself, no `eval`; WebAssembly, and workers of its own files or
 * made of its own text. A server sends it as a header; a page on another host carries it, without `frame-ancestors`, which only counts
 * in a header.
 *
 * @param connect where the page may send requests, such as `'self'`
 */
export function pagePolicy(connect: string): string {
  return [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self' blob:",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    'media-src blob:',
    "font-src 'self'",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}
