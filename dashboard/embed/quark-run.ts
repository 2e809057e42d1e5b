/**
 * `<quark-run src="...">`: a run, or one chart of it, in any page. It is a sandboxed frame of the page that lies beside this file.
 *
 *     <script type="module" src="https://example.org/gallery/quark-run.js"></script>
 *     <quark-run src="https://example.org/gallery/#/runs/run_1" metric="train/loss" height="320"></quark-run>
 *
 * `src` is the address of a run in a gallery or a service, or of a `.quark` file, which this page fetches and hands over. `metric`, `height`
 * in pixels (360) and `theme` (`light`, `dark`) are optional; `page` names another page to show a file with.
 */
const HEIGHT_PX = 360;
const MAX_HEIGHT_PX = 4000;

/** What is shown in the frame. */
type Shown = { readonly frame: URL; readonly file: URL | undefined };

class QuarkRunElement extends HTMLElement {
  static readonly observedAttributes = ['src', 'metric', 'height', 'theme', 'page', 'label'];
  #isDue = false;
  #stopListening = new AbortController();

  connectedCallback(): void {
    this.#update();
  }

  disconnectedCallback(): void {
    this.#stopListening.abort();
    this.replaceChildren();
  }

  attributeChangedCallback(): void {
    this.#update();
  }

  /** Several attributes that change together are one change. */
  #update(): void {
    if (this.#isDue || !this.isConnected) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      if (this.isConnected) this.#show();
    });
  }

  #show(): void {
    this.#stopListening.abort();
    this.#stopListening = new AbortController();
    const shown = this.#shown();
    if (shown === undefined) {
      this.replaceChildren(
        '<quark-run> needs a src: the http address of a run or of a .quark file.',
      );
      return;
    }
    const frame = document.createElement('iframe');
    frame.title = this.getAttribute('label') ?? 'A run in Quark';
    frame.loading = 'lazy';
    frame.referrerPolicy = 'no-referrer';
    // Its worker needs the origin of the page; it opens no dialog, sends no form and leads the page around it nowhere.
    frame.sandbox.add('allow-scripts', 'allow-same-origin', 'allow-popups');
    frame.style.cssText = `display:block;width:100%;height:${this.#height()}px;border:0`;
    if (shown.file !== undefined) this.#handOver(frame, shown.frame.origin, shown.file);
    frame.src = shown.frame.href;
    this.replaceChildren(frame);
  }

  #shown(): Shown | undefined {
    const src = addressOf(this.getAttribute('src'), document.baseURI);
    if (src === undefined) return undefined;
    const isFile = src.pathname.endsWith('.quark');
    const frame = isFile
      ? addressOf(this.getAttribute('page') ?? '', import.meta.url, document.baseURI)
      : src;
    if (frame === undefined) return undefined;
    frame.searchParams.set('embed', '1');
    if (isFile) frame.searchParams.set('file', '1');
    for (const name of ['metric', 'theme']) {
      const value = this.getAttribute(name);
      if (value !== null && value !== '') frame.searchParams.set(name, value);
    }
    return { frame, file: isFile ? src : undefined };
  }

  #height(): number {
    const asked = Number(this.getAttribute('height') ?? HEIGHT_PX);
    return Number.isFinite(asked) && asked > 0 ? Math.min(asked, MAX_HEIGHT_PX) : HEIGHT_PX;
  }

  /** Sends the file once the frame says that it is ready. */
  #handOver(frame: HTMLIFrameElement, origin: string, file: URL): void {
    const { signal } = this.#stopListening;
    addEventListener(
      'message',
      (event) => {
        if (event.source !== frame.contentWindow || event.origin !== origin) return;
        if (event.data !== 'quark:ready') return;
        void fetchFile(file, signal).then((quarkFile) =>
          frame.contentWindow?.postMessage({ quarkFile }, origin),
        );
      },
      { signal },
    );
  }
}

/** The bytes of the file, or why there are none. */
async function fetchFile(file: URL, signal: AbortSignal): Promise<Blob | string> {
  try {
    const answer = await fetch(file, { signal });
    return answer.ok ? await answer.blob() : `${file.pathname}: status ${answer.status}`;
  } catch {
    return `${file.pathname} cannot be fetched.`;
  }
}

/** An address of a web server; undefined for any other one. An empty text is the folder of `base`. */
function addressOf(text: string | null, base: string, given: string = base): URL | undefined {
  if (text === null || (text === '' && given === base)) return undefined;
  try {
    const address = text === '' ? new URL('./', base) : new URL(text, given);
    return /^https?:$/.test(address.protocol) ? address : undefined;
  } catch {
    return undefined;
  }
}

if (customElements.get('quark-run') === undefined)
  customElements.define('quark-run', QuarkRunElement);
