/** Saved views of the charts of a project: made on the page, and by programs. */
import { readOptions, optional as optionalRule } from '../base/options.ts';
import { checkCount, checkLiteral } from '../base/assert.ts';
import { invalidInput, SessionStoreError, show } from '../base/errors.ts';
import { checkLabel, checkStorable } from '../base/names.ts';
import { xxh32 } from '../base/xxh32.ts';
import {
  DOCUMENT_VISIBILITIES,
  type DocumentHeader,
  type DocumentVisibility,
  type StoredDocument,
} from '../records/shapes/document.ts';
import type { Store } from '../store/store.ts';
import { deleteDocument, findDocument, listDocuments, putDocument } from './documents.ts';
import { checkView, viewFromJson, viewToJson, type ChartsView } from './view-shape.ts';

const KIND = 'view';
/** Which view a project opens with. */
const CHOICE = { kind: 'view-choice', id: 'default' } as const;

/** What a list says of a saved view. */
export type SavedViewHeader = Pick<
  DocumentHeader,
  'id' | 'name' | 'author' | 'owner' | 'revision' | 'createdAtMs' | 'updatedAtMs'
> & {
  /** `private`: nobody but the user who saved it sees it, and admins. In a store without a service that is everybody who opens it. */
  readonly visibility: DocumentVisibility;
  /** Whether the project opens with it. */
  readonly isDefault: boolean;
};

/** A saved view. */
export type SavedView = SavedViewHeader & { readonly view: ChartsView };

/** How a view is saved. */
export type SaveViewOptions = {
  /** The view that it replaces, also under another name; unless given, that of the same name, if there is one. */
  readonly id?: string;
  /** The revision that it has now, 0 for none: it is saved only if that is so. Default: whatever is there is replaced. */
  readonly expected?: number;
  /** Who saves it, where the store does not know. */
  readonly author?: string;
  /**
   * `private`: on a service, only the user of the key sees it, and the owner of the space with a key of scope `admin`. A store without a
   * service has one user, and hides nothing from those who open it. Default: `project`, or as the view is that `id` names.
   */
  readonly visibility?: DocumentVisibility;
};

/**
 * Saves a view of the charts of a project: what the page of each of its runs offers under this name. A view of the same name is
 * replaced; a private view and one of the project are two views, also under one name.
 *
 * @param view `project`, `name`, and `sections`: each has a `title` and `panels`; a panel has `metrics` and perhaps `formulas`.
 *   Settings (`axis`, `logY`, `smoothing`, `smoothingAmount` from 0 to 0.99, ...) may stand at each of the three levels, and what one
 *   does not say is as the level above says. At most 200 sections and 2,000 panels
 * @returns the view as saved
 * @throws {QuarkError} `invalid_input` naming the field, before anything is written; `unsupported` where the store has no documents
 * @throws {SessionStoreError} `missing` when there is no such project; `busy` when the view has not the expected revision any more, with
 *   `details.revision`; `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { saveView } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {}); // a project is there with its first run
 * const panel = { metrics: ['train/loss', 'val/loss'], formulas: ['val/loss - train/loss'], logY: true };
 * const view = { project: 'digits', name: 'Losses', smoothingAmount: 0.6, sections: [{ title: 'Loss', panels: [panel] }] };
 * const saved = await saveView(store, view);
 * console.log(saved.name, saved.revision, saved.isDefault); // Losses 1 false
 * ```
 */
export async function saveView(
  store: Store,
  view: ChartsView & { readonly project: string },
  options: SaveViewOptions = {},
): Promise<SavedView> {
  const { project, ...given } = { ...view };
  checkStorable('project', project);
  checkView(given);
  const { author, expected, id, ...asked } = readOptions('options', options, {
    id: optionalRule(checkLabel),
    expected: optionalRule(checkCount),
    author: optionalRule(checkLabel),
    visibility: optionalRule((field, value) => checkLiteral(field, value, DOCUMENT_VISIBILITIES)),
  });
  const known = (await listDocuments(store, project, KIND)).filter(isOwnOrShared);
  const stored = id === undefined ? undefined : known.find((one) => one.id === id);
  const visibility = asked.visibility ?? stored?.visibility ?? 'project';
  const sameName = known.find((one) => one.name === given.name && visibilityOf(one) === visibility);
  if (id !== undefined && sameName !== undefined && sameName.id !== id)
    throw invalidInput('view.name', given.name, 'a name that no other view of the project has');
  const document = {
    kind: KIND,
    id: id ?? sameName?.id ?? idOf(given.name, visibility),
    visibility,
    name: given.name,
    author: author ?? null,
    body: viewToJson(given),
  };
  const done = await putDocument(store, project, document, expected);
  if (done.kind === 'conflict') throw changedMeanwhile(given.name, done.document);
  return savedView(done.document, await defaultId(store, project));
}

/**
 * The saved views of a project, ordered by name; none of a project that is not there.
 *
 * @throws {QuarkError} `invalid_input`; `unsupported` where the store has no documents
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { listViews, saveView } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * const sections = [{ title: 'Loss', panels: [{ metrics: ['train/loss', 'val/loss'] }] }];
 * await saveView(store, { project: 'digits', name: 'Losses', sections });
 * const views = await listViews(store, 'digits');
 * for (const { name, visibility, isDefault } of views) console.log(name, visibility, isDefault); // Losses project false
 * ```
 */
export async function listViews(
  store: Store,
  project: string,
): Promise<readonly SavedViewHeader[]> {
  const all = await listDocuments(store, project);
  const hasChoice = all.some(({ kind }) => kind === CHOICE.kind);
  const chosen = hasChoice ? await defaultId(store, project) : undefined;
  return all
    .filter(({ kind }) => kind === KIND)
    .map((one) => headerOf(one, chosen))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * A saved view; undefined where there is none.
 *
 * @param nameOrId its name, or its id, which stays when it is renamed; of two views of one name, the reader's private one
 * @throws {QuarkError} `invalid_input`, also where what is stored is no view; `unsupported` where the store has no documents
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readView, saveView } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * const sections = [{ title: 'Loss', panels: [{ metrics: ['train/loss', 'val/loss'] }] }];
 * await saveView(store, { project: 'digits', name: 'Losses', sections });
 * const saved = await readView(store, 'digits', 'Losses');
 * console.log(saved.view.sections[0].panels[0].metrics); // [ 'train/loss', 'val/loss' ]
 * ```
 */
export async function readView(
  store: Store,
  project: string,
  nameOrId: string,
): Promise<SavedView | undefined> {
  const header = await findHeader(store, project, nameOrId);
  if (header === undefined) return undefined;
  const found = await findDocument(store, project, KIND, header.id, header.owner);
  return found === undefined ? undefined : savedView(found, await defaultId(store, project));
}

/**
 * Deletes a saved view.
 *
 * @returns whether it was there
 * @throws {QuarkError} `invalid_input`; `unsupported` where the store has no documents
 * @throws {SessionStoreError} `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { deleteView, saveView } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * await saveView(store, { project: 'digits', name: 'Losses', sections: [] });
 * console.log(await deleteView(store, 'digits', 'Losses')); // true
 * ```
 */
export async function deleteView(
  store: Store,
  project: string,
  nameOrId: string,
): Promise<boolean> {
  const header = await findHeader(store, project, nameOrId);
  if (header === undefined) return false;
  if (visibilityOf(header) === 'project' && (await defaultId(store, project)) === header.id)
    await deleteDocument(store, project, CHOICE.kind, CHOICE.id);
  return deleteDocument(store, project, KIND, header.id, undefined, header.owner);
}

/**
 * Says with which view a project opens.
 *
 * @param nameOrId the view; null for none, so that sections come from the names of metrics
 * @throws {QuarkError} `invalid_input`, also where there is no such view, or it is a private one; `unsupported` where the store has no documents
 * @throws {SessionStoreError} `missing` when there is no such project; `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { listViews, saveView, setDefaultView } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * await saveView(store, { project: 'digits', name: 'Losses', sections: [] });
 * await setDefaultView(store, 'digits', 'Losses');
 * const [{ name, isDefault }] = await listViews(store, 'digits');
 * console.log(name, isDefault); // Losses true
 * ```
 */
export async function setDefaultView(
  store: Store,
  project: string,
  nameOrId: string | null,
): Promise<void> {
  if (nameOrId === null) {
    await deleteDocument(store, project, CHOICE.kind, CHOICE.id);
    return;
  }
  const header = await findHeader(store, project, nameOrId);
  if (header === undefined)
    throw invalidInput('view', nameOrId, `the name or id of a view of project ${show(project)}`);
  if (visibilityOf(header) === 'private')
    throw invalidInput('view', nameOrId, 'a view that all readers of the project see');
  const body = JSON.stringify({ view: header.id });
  await putDocument(store, project, { ...CHOICE, name: 'default view', body });
}

async function findHeader(
  store: Store,
  project: string,
  nameOrId: string,
): Promise<DocumentHeader | undefined> {
  checkLabel('view', nameOrId);
  const all = await listDocuments(store, project, KIND);
  const rank = (one: DocumentHeader): number =>
    isOwnOrShared(one) ? (visibilityOf(one) === 'private' ? 0 : 1) : 2;
  return all
    .filter(({ id, name }) => name === nameOrId || id === nameOrId)
    .sort(
      (a, b) => rank(a) - rank(b) || Number(b.name === nameOrId) - Number(a.name === nameOrId),
    )[0];
}

async function defaultId(store: Store, project: string): Promise<string | undefined> {
  const found = await findDocument(store, project, CHOICE.kind, CHOICE.id);
  if (found === undefined) return undefined;
  const { view } = Object(JSON.parse(found.body)) as { readonly view?: unknown };
  return typeof view === 'string' ? view : undefined;
}

function headerOf(document: DocumentHeader, chosen: string | undefined): SavedViewHeader {
  const { author, createdAtMs, id, name, owner, revision, updatedAtMs } = document;
  return {
    id,
    name,
    author,
    ...(owner === undefined ? {} : { owner }),
    visibility: visibilityOf(document),
    revision,
    createdAtMs,
    updatedAtMs,
    isDefault: id === chosen && isOwnOrShared(document) && visibilityOf(document) === 'project',
  };
}

function savedView(document: StoredDocument, chosen: string | undefined): SavedView {
  return {
    ...headerOf(document, chosen),
    view: { ...viewFromJson(document.body), name: document.name },
  };
}

/** Views that the reader has, not those of others, which an admin sees. */
function isOwnOrShared({ owner }: DocumentHeader): boolean {
  return owner === undefined;
}

function visibilityOf({ visibility = 'project' }: DocumentHeader): DocumentVisibility {
  return visibility;
}

/** Two programs that save a view of one name at once save one view. */
function idOf(name: string, visibility: DocumentVisibility): string {
  const bytes = new TextEncoder().encode(name);
  const words = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40);
  return `${visibility === 'private' ? 'p' : 'v'}${words.startsWith('-') ? '' : '-'}${words}-${xxh32(bytes).toString(16)}`;
}

function changedMeanwhile(name: string, now: StoredDocument | null): SessionStoreError {
  const what = now === null ? 'deleted' : 'changed';
  return new SessionStoreError(
    'busy',
    `The view ${show(name)} was ${what} meanwhile${now?.author ? ` by ${show(now.author)}` : ''}. Nothing was saved. Read it again, or save under another name.`,
    { details: { name, revision: now?.revision ?? 0, httpStatus: 409 } },
  );
}
