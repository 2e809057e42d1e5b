/** The current access of users whose answers are under way. */
import { isStoreError, SessionStoreError } from '../../base/errors.ts';
import type { AccessBook, GrantedSpace } from './access-book.ts';
import { BlobIndex } from './guest-blobs.ts';
import type { Principal, SpaceAddress } from './principal.ts';

/** Limit on spaces with an index of blobs; those used most recently stay. */
const MAX_BLOB_INDEXES = 256;

/** All keys of one user see the same of a space, until something is shared or no longer. */
export function viewOf(projects: GrantedSpace['projects']): string {
  return projects === undefined ? 'all' : JSON.stringify([...projects.keys()].sort());
}

/** Checks whether access that was granted still exists. */
export class OpenGrants {
  readonly #access: AccessBook;
  /** Whether people at this machine may do without a key for ever, or until there is one. */
  readonly #isKeyless: boolean;
  readonly #indexes = new Map<string, BlobIndex>();

  constructor(access: AccessBook, isKeyless: boolean) {
    this.#access = access;
    this.#isKeyless = isKeyless;
  }

  /** Whether somebody sees the same of a space as when it was opened to them. */
  async isOpen(principal: Principal, address: SpaceAddress, view: string): Promise<boolean> {
    if (!(await this.#isKnown(principal))) return false;
    try {
      return viewOf((await this.#access.openSpace(principal, address)).projects) === view;
    } catch (error) {
      if (isStoreError(error, 'missing')) return false;
      throw error;
    }
  }

  /**
   * Looks whether somebody may do in a space what they were let in for.
   *
   * @throws {SessionStoreError} `unauthorised` when their key is not good any longer (401), or a project of `projects` is not
   *   open to them as it was (403); `missing` when none is
   */
  async confirm(
    principal: Principal,
    address: SpaceAddress,
    projects: GrantedSpace['projects'],
  ): Promise<void> {
    if (!(await this.#isKnown(principal)))
      throw new SessionStoreError(
        'unauthorised',
        'What this request was let in with came to its end before all of it had arrived.',
      );
    const now = (await this.#access.openSpace(principal, address)).projects;
    for (const [project, access] of projects ?? [])
      if (now !== undefined && now.get(project) !== access && now.get(project) !== 'write')
        throw new SessionStoreError(
          'unauthorised',
          'What is shared with you changed before all of this request had arrived. Send it again.',
          { details: { project, httpStatus: 403 } },
        );
  }

  async #isKnown({ keyId }: Principal): Promise<boolean> {
    if (keyId !== undefined) return this.#access.isGood(keyId);
    return this.#isKeyless || !(await this.#access.hasKeys());
  }

  /** Which blobs the runs of a space name. */
  blobsOf(storedName: string): BlobIndex {
    const index = this.#indexes.get(storedName) ?? new BlobIndex();
    this.#indexes.delete(storedName);
    this.#indexes.set(storedName, index);
    const [oldest] = this.#indexes.keys();
    if (this.#indexes.size > MAX_BLOB_INDEXES && oldest !== undefined) this.#indexes.delete(oldest);
    return index;
  }
}
